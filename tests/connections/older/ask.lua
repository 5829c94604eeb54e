-- Heartbeat, poll and try at once.
-- ARGV: 1 ticket, 2 its name, 3 lease ms, 4 claim ms, 5 beat ms, 6 'queue' or 'reject', 7 channel or '', 8 the record's rest
--       from its first comma on, 9 the last moment at which this may be executed, ms of this server, 10 or missing: how many
--       tickets may wait at the most
-- Answers: {'STALE', now}                    too late, nothing was changed
--          {'HELD', now, token}              the ticket holds the lock for its lease at least
--          {'WAIT', now, number, rank, left} it waits; left: ms that the holder has
--          {'BUSY', now, left}               held, or others wait; nothing of this ticket is stored; left -1: unknown
--          {'BUSY', now, left, waiting}      the same, since so many wait that no more may
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
  give(first, place, words)
end

local left = redis.call('PTTL', L)
if ARGV[6] == 'reject' then return { 'BUSY', now, left < 0 and -1 or left } end

local number = redis.call('ZSCORE', Q, me)
if not number and ARGV[10] and full(tonumber(ARGV[10])) then
  return { 'BUSY', now, left < 0 and -1 or left, redis.call('ZCARD', Q) }
end
local lives = string.format('%.0f', now + ARGV[5])
if number then
  if redis.call('HEXISTS', W, 'd' .. me) == 1 then
    redis.call('HSET', W, 'd' .. me, lives)
  else
    redis.call('HSET', W, 'd' .. me, lives, 'r' .. me, ARGV[4] .. ' ' .. lease .. ' ' .. ARGV[7] .. ARGV[8])
  end
  number = string.format('%016.0f', number)
else
  number = next_number()
  -- the hash first: if something foreign stands there, nothing has been written yet
  redis.call('HSET', W, 'd' .. me, lives, 'r' .. me, ARGV[4] .. ' ' .. lease .. ' ' .. ARGV[7] .. ARGV[8])
  redis.call('ZADD', Q, number, me)
  keep_number(number)
end
-- nothing of ours lives for ever, and nothing that is asked for goes before its time
for _, key in ipairs({ Q, W }) do
  if redis.call('PTTL', key) < tonumber(ARGV[5]) then redis.call('PEXPIRE', key, 2 * ARGV[5]) end
end
return { 'WAIT', now, number, redis.call('ZRANK', Q, me), left < 0 and 0 or left }
