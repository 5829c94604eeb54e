-- Lengthens a hold; never creates one.
-- KEYS: 1 L   ARGV: 1 ticket and token as they stand in the record, 2 lease ms   Answers: 1 renewed, 0 lost
local L = KEYS[1]
local record = redis.call('GET', L)
if not record or string.sub(record, 11, 75) ~= ARGV[1] then return 0 end
if redis.call('PTTL', L) < tonumber(ARGV[2]) then redis.call('PEXPIRE', L, ARGV[2]) end
return 1
