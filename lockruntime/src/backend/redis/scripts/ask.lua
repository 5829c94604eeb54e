-- Heartbeat, poll and try at once.
-- ARGV: 1 ticket, 2 its name, 3 lease ms, 4 claim ms, 5 beat ms, 6 'queue' or 'reject', 7 channel or '', 8 the record's rest
--       from its first comma on, 9 the last moment at which this may be executed, ms of this server, 10 or missing: how many
--       tickets may wait at the most
-- Answers: {'STALE', now}                    too late, nothing was changed
--          {'HELD', now, token}              the ticket holds the lock for its lease at least
--          {'WAIT', now, number, rank, left} it waits; left: ms that the holder has
--          {'BUSY', now, left}               held, or others wait; nothing of this ticket is stored; left -1: unknown
--          {'BUSY', now, left, waiting}      the same, since so many wait that no more may
--          {'SHARED', now}                   see the prelude
-- wait.lua follows: what becomes of a ticket that doesn't get the lock.
local ticket, me, lease = ARGV[1], ARGV[2], ARGV[3]
clock()
if now > tonumber(ARGV[9]) then return { 'STALE', now } end

local function take()
  local number = next_number()
  drop(me)
  keep_number(number)
  put(ticket, number, ARGV[8], lease)
  return { 'HELD', now, number }
end

if redis.call('EXISTS', L, Q) == 0 then
  local number = next_number()
  keep_number(number)
  put(ticket, number, ARGV[8], lease)
  return { 'HELD', now, number }
end

local record = redis.call('GET', L)
if record then
  if not is_ours(record) then return redis.error_reply('FOREIGN ' .. L .. ' holds something that is not ours') end
  if owner_of(record) == ticket then
    if redis.call('PTTL', L) < tonumber(lease) then redis.call('PEXPIRE', L, lease) end
    return { 'HELD', now, string.sub(record, 60, 75) }
  end
end

local first, place, words, more = head()
if not record and not more then
  if not first or first == me then return take() end
  if give(first, place, words)[1] == 'SHARED' then return { 'SHARED', now } end
end

local left = redis.call('PTTL', L)
