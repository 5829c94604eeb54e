-- The end of every ask that doesn't get the lock: refused, or in the line, alive for another beat.
-- Before it: `ticket`, `me`, `lease`, and `left`, the ms that the holder has, negative where that is unknown.
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
