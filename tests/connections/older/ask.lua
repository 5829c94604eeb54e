-- As it was before locks could be shared: a process of an older version beside those that share. Never to be changed.
-- Shared by all verbs. One lock has four keys, all in one slot:
--   KEYS[1] L  string  the record: {"owner":"<32 hex>","fencingToken":<16 digits>,...}; owner and token at fixed places
--   KEYS[2] Q  zset    ticket's name -> arrival number
--   KEYS[3] W  hash    d<name> -> when the ticket dies, ms of this server; r<name> -> what is needed to grant it
--   KEYS[4] N  string  the last number given out, for places and tokens alike
-- r<name> is words, then the record's rest from its first comma on: <claim ms> <lease ms> <channel>,"key":...}
local L, Q, W, N = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local DROPS = 64 -- dead tickets that one call drops at the most
local KEEP = 3600000 -- ms that the counter outlives its last use; the clock takes over then

local now, micros
local function clock()
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  micros = time[1] * 1000000 + time[2]
end

-- The next number: never given before, not even after the counter was lost.
local function next_number()
  local last = tonumber(redis.call('GET', N) or 0)
  if not last then error('FOREIGN ' .. N .. ' holds something that is not ours') end
  if last >= micros then return string.format('%016.0f', last + 1) end
  return string.format('%016.0f', micros)
end

local function keep_number(number)
  redis.call('SET', N, number, 'PX', KEEP)
end

local function put(ticket, number, rest, expiry)
  redis.call('SET', L, '{"owner":"' .. ticket .. '","fencingToken":' .. number .. rest, 'PX', expiry)
end

local function is_ours(record)
  return #record > 75 and string.sub(record, 1, 10) == '{"owner":"' and string.sub(record, 43, 59) == '","fencingToken":'
end

local function owner_of(record)
  return string.sub(record, 11, 42)
end

-- The first living ticket, its number and what is needed to grant it. Drops the dead before it, but only so many:
-- more = true says that the bound was reached and nothing is known yet.
local function head()
  local members = redis.call('ZRANGE', Q, 0, 0, 'WITHSCORES')
  if #members == 0 then return nil end
  local alive = redis.call('HMGET', W, 'd' .. members[1], 'r' .. members[1])
  if alive[1] and alive[2] and tonumber(alive[1]) >= now then return members[1], members[2], alive[2] end
  members = redis.call('ZRANGE', Q, 0, DROPS - 1, 'WITHSCORES')
  local fields = {}
  for i = 1, #members, 2 do
    fields[#fields + 1] = 'd' .. members[i]
    fields[#fields + 1] = 'r' .. members[i]
  end
  local values = redis.call('HMGET', W, unpack(fields))
  local dead, gone = {}, {}
  local first, number, words
  for i = 1, #members, 2 do
    local deadline, record = values[i], values[i + 1]
    if deadline and record and tonumber(deadline) >= now then
      first, number, words = members[i], members[i + 1], record
      break
    end
    dead[#dead + 1] = members[i]
    gone[#gone + 1] = 'd' .. members[i]
    gone[#gone + 1] = 'r' .. members[i]
  end
  redis.call('ZREM', Q, unpack(dead))
  redis.call('HDEL', W, unpack(gone))
  return first, number, words, not first and #members == 2 * DROPS
end

-- Whether `most` tickets wait, or more. Where it looks so, some of them are looked at, others at each call, and the dead among
-- them dropped: they don't count, wherever they stand.
local function full(most)
  local waiting = redis.call('ZCARD', Q)
  if waiting < most or waiting == 0 then return waiting >= most end
  local from = DROPS * (micros % math.ceil(waiting / DROPS))
  local members = redis.call('ZRANGE', Q, from, from + DROPS - 1)
  local fields = {}
  for i, member in ipairs(members) do fields[i] = 'd' .. member end
  local dead, gone = {}, {}
  for i, deadline in ipairs(redis.call('HMGET', W, unpack(fields))) do
    if not deadline or tonumber(deadline) < now then
      dead[#dead + 1] = members[i]
      gone[#gone + 1] = 'd' .. members[i]
      gone[#gone + 1] = 'r' .. members[i]
    end
  end
  if #dead > 0 then
    redis.call('ZREM', Q, unpack(dead))
    redis.call('HDEL', W, unpack(gone))
  end
  return waiting - #dead >= most
end

local function drop(member)
  if redis.call('ZREM', Q, member) == 1 then redis.call('HDEL', W, 'd' .. member, 'r' .. member) end
end

-- Gives the lock to a ticket: for its whole lease if it waits on the channel `by`, else for its claim and with a push.
-- Removes first, so that a full server doesn't stop a hand-over half-way.
local function give(member, place, record, by)
  local claim, lease, channel, rest = string.match(record, '^(%d+) (%d+) ([^,]*)(,.*)$')
  local ticket = string.sub(member, -32)
  local number = next_number()
  place = string.format('%016.0f', place) -- a score's text is the server's affair
  drop(member)
  keep_number(number)
  if by and by ~= '' and by == channel then
    put(ticket, number, rest, lease)
    return { 'NEXT', ticket, place, number }
  end
  put(ticket, number, rest, claim)
  -- last, and by pcall: a user without channel rights must not get an error after the write stood
  if channel ~= '' then redis.pcall('PUBLISH', channel, ticket .. ' ' .. place .. ' ' .. number) end
  return { 'PASSED' }
end

-- Why the lock isn't `ticket`'s; nil when it is.
local function not_held(ticket)
  local record = redis.call('GET', L)
  if not record then return { 'ABSENT' } end
  if not is_ours(record) or owner_of(record) ~= ticket then return { 'OTHER' } end
end

-- Gives the lock of `ticket` to the first living ticket, or frees it.
local function hand_over(ticket, channel)
  local no = not_held(ticket)
  if no then return no end
  if redis.call('EXISTS', Q) == 0 then
    redis.call('DEL', L)
    return { 'FREE' }
  end
  clock()
  local member, place, words = head()
  if member then return give(member, place, words, channel) end
  redis.call('DEL', L)
  return { 'FREE' }
end
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
