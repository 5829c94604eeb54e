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
