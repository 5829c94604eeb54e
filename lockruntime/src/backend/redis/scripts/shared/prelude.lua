-- Holds that stand beside each other: permits, and readers. They wait in the same line as those who hold alone, and whoever holds
-- alone finds the same record. While several hold, L has an owner that no ticket is, ALL, and stands for all of them: how many
-- there may be, the newest token, the expiry of the last. So those who know nothing of sharing are kept out by it.
--   the last but one  H  zset  ticket -> when its hold ends, ms of this server
--   the last          R  hash  ticket -> its token, then the rest of its record
-- H and R count only while L is ALL's.
local H, R = KEYS[#KEYS - 1], KEYS[#KEYS]

local record, owner, limit -- L, who has it, and of ALL how many may hold

-- The keys go with the last hold, or at `least`.
local function expire(least)
  local last = redis.call('ZRANGE', H, -1, -1, 'WITHSCORES')[2]
  local left = math.max(tonumber(last or 0), least) - now
  for _, key in ipairs({ L, H, R }) do redis.call('PEXPIRE', key, left) end
end

-- Holds whose time is over, but only so many a call.
local function drop_ended()
  local first = redis.call('ZRANGE', H, 0, 0, 'WITHSCORES')[2]
  if not first or tonumber(first) > now then return end
  local holds, ended = redis.call('ZRANGE', H, 0, DROPS - 1, 'WITHSCORES'), {}
  for i = 1, #holds, 2 do
    if tonumber(holds[i + 1]) <= now then ended[#ended + 1] = holds[i] end
  end
  redis.call('ZREM', H, unpack(ended))
  redis.call('HDEL', R, unpack(ended))
end

-- Nobody holds the lock any more, if so.
local function free_if_empty()
  if redis.call('ZCARD', H) > 0 then return false end
  redis.call('DEL', L)
  owner, limit = nil, nil
  return true
end

-- Who has the lock. After clock().
local function look()
  record = redis.call('GET', L)
  if not record then return end
  if not is_ours(record) then error('FOREIGN ' .. L .. ' holds something that is not ours') end
  owner = owner_of(record)
  if owner ~= ALL then return end
  limit = limit_of(string.sub(record, 76))
  drop_ended()
  free_if_empty()
end

-- When the hold of `ticket` ends, and its token, if it is one of several.
local function held(ticket)
  local ends = tonumber(redis.call('ZSCORE', H, ticket) or 0)
  local stored = redis.call('HGET', R, ticket)
  if ends > now and stored then return ends, string.sub(stored, 1, 16) end
end

-- Moves the end of one of several holds. Expiries first: they may be written on a full server, and then what follows, too.
local function move(ticket, ends)
  expire(ends)
  redis.call('ZADD', H, ends, ticket)
end

-- Stores a hold, alone or beside others.
function hold(ticket, number, rest, length)
  local beside = limit_of(rest)
  if not beside then
    owner, limit = ticket, nil
    return put(ticket, number, rest, length)
  end
  if owner ~= ALL then
    -- something foreign is an error here, and stays
    redis.call('ZCARD', H)
    redis.call('HGET', R, ticket)
    -- of holds that L doesn't stand for any more
    redis.call('DEL', H, R)
  end
  owner, limit = ALL, beside
  redis.call('ZADD', H, now + length, ticket)
  redis.call('HSET', R, ticket, number .. rest)
  put(ALL, number, rest, length)
  expire(0)
end

-- Whether one more may hold the lock, who holds it beside `beside` others at the most; nil: alone.
local function fits(beside)
  if not owner then return true end
  return beside and beside == limit and (limit == 0 or redis.call('ZCARD', H) < limit)
end

-- Gives the lock to those who are next, as many as may have it beside each other, but only so many a call; not to `me`.
-- Answers whether it gave it, who is first then, and whether there may be more.
local function advance(me)
  local given = false
  for _ = 1, DROPS do
    local first, place, words, more = head()
    if not first then return given, nil, more end
    if first == me or not fits(limit_of(string.match(words, ',.*$'))) then return given, first end
    give(first, place, words)
    given = true
  end
  return given, nil, true
end

-- Gives back the hold of `ticket`, alone or one of several, or keeps it for so many ms. Whoever may enter then does, and so they do
-- if there was nothing to give back: the ticket may have stood in their way.
local function give_back(ticket, keep)
  local foreign = redis.call('GET', L)
  if foreign and not is_ours(foreign) then return { 'OTHER' } end
  look()
  local answer = owner and 'OTHER' or 'ABSENT'
  if owner == ticket then
    if keep then
      redis.call('PEXPIRE', L, keep)
      return { 'KEPT' }
    end
    redis.call('DEL', L)
    owner, answer = nil, 'FREE'
  elseif owner == ALL and held(ticket) then
    if keep then
      move(ticket, now + keep)
      expire(0)
      return { 'KEPT' }
    end
    redis.call('ZREM', H, ticket)
    redis.call('HDEL', R, ticket)
    if not free_if_empty() then expire(0) end
    answer = 'FREE'
  end
  if advance() and answer == 'FREE' then answer = 'PASSED' end
  return { answer }
end
