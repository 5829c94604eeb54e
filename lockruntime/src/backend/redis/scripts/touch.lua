-- Writes a lock's expiry as it is. From 7.2 on WAIT waits for what its own connection wrote last, and a renewal that lengthens
-- nothing writes nothing.
-- KEYS: 1 L   Answers: 1 written, 0 there is none
local left = redis.call('PTTL', KEYS[1])
if left <= 0 then return 0 end -- what has no expiry isn't ours, and keeps none
return redis.call('PEXPIRE', KEYS[1], left)
