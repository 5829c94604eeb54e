-- Lengthens one of several holds; never creates one.
-- KEYS: L, H and R alone, which are there as long as the hold is: a slot that moves takes no call with a key that isn't there
-- ARGV: 1 ticket, 2 its token, 3 lease ms   Answers: 1 renewed, 0 lost
local ticket, lease = ARGV[1], ARGV[3]
clock()
look()
-- given by a version that knows nothing of sharing
if owner == ticket and string.sub(record, 60, 75) == ARGV[2] then
  if redis.call('PTTL', L) < tonumber(lease) then redis.call('PEXPIRE', L, lease) end
  return 1
end
if owner ~= ALL then return 0 end
local ends, token = held(ticket)
if token ~= ARGV[2] then return 0 end
if ends < now + lease then move(ticket, now + lease) end
return 1
