-- Takes or keeps a place in the courtesy queue, which stands on one node of a quorum.
-- ARGV: 1 the ticket's name, 2 how long it lives, ms, 3 channel or '', 4 the last moment at which this may be executed, ms of
--       this server, 5 or missing: how many tickets may wait at the most
-- Answers: {'STALE', now}, {'PLACE', now, number, rank}, {'FULL', now, waiting}
local me = ARGV[1]
clock()
if now > tonumber(ARGV[4]) then return { 'STALE', now } end
head() -- drops the dead before it
local number = redis.call('ZSCORE', Q, me)
if not number and ARGV[5] and full(tonumber(ARGV[5])) then return { 'FULL', now, redis.call('ZCARD', Q) } end
redis.call('HSET', W, 'd' .. me, string.format('%.0f', now + ARGV[2]), 'r' .. me, ARGV[3])
if not number then
  -- not from the counter: a token that was read must not be overtaken by a place
  local tail = redis.call('ZRANGE', Q, -1, -1, 'WITHSCORES')
  number = math.max(micros, tonumber(tail[2] or 0) + 1)
  redis.call('ZADD', Q, string.format('%.0f', number), me)
end
for _, key in ipairs({ Q, W }) do
  if redis.call('PTTL', key) < tonumber(ARGV[2]) then redis.call('PEXPIRE', key, 2 * ARGV[2]) end
end
return { 'PLACE', now, string.format('%.0f', number), redis.call('ZRANK', Q, me) }
