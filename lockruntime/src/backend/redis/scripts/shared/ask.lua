-- Heartbeat, poll and try at once, for those who share the lock, and for those who hold it alone where others share it.
-- ARGV and answers as in ask.lua, and: {'DIFFERS', now, limit}   shared otherwise: by so many permits, 0 by readers; nothing of this
--                                                                ticket is stored
-- wait.lua follows.
local ticket, me, lease = ARGV[1], ARGV[2], ARGV[3]
clock()
if now > tonumber(ARGV[9]) then return { 'STALE', now } end
local beside = limit_of(ARGV[8])

look()
if owner == ticket then
  if redis.call('PTTL', L) < tonumber(lease) then redis.call('PEXPIRE', L, lease) end
  return { 'HELD', now, string.sub(record, 60, 75) }
end
if owner == ALL then
  local ends, token = held(ticket)
  if ends then
    if ends < now + lease then move(ticket, now + lease) end
    return { 'HELD', now, token }
  end
  if beside and beside ~= limit then
    drop(me)
    advance()
    return { 'DIFFERS', now, limit }
  end
end

local _, first, more = advance(me)
if not more and (not first or first == me) and fits(beside) then
  local number = next_number()
  -- a full server refuses what it has no room for at the first write only: those who waited have room
  if first then drop(me) end
  keep_number(number)
  hold(ticket, number, ARGV[8], lease)
  -- those behind it may have it too, and nobody else tells them
  advance()
  return { 'HELD', now, number }
end

local left = redis.call('PTTL', L)
-- for one more permit the first that ends will do
if owner == ALL and beside == limit and limit > 0 then left = redis.call('ZRANGE', H, 0, 0, 'WITHSCORES')[2] - now end
