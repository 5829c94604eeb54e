-- Takes the lock on one more node for a bid that holds it on a majority, where it is free and no greater token was seen.
-- ARGV: 1 ticket, 2 token, 16 digits, 3 lease ms, 4 the record's rest, 5 the last moment at which this may be executed, ms
--       of this server
-- Answers: {'STALE', now}, {'DONE', now}, {'REFUSED', now}
clock()
if now > tonumber(ARGV[5]) then return { 'STALE', now } end
if redis.call('EXISTS', L) == 1 then return { 'REFUSED', now } end
local last = redis.call('GET', N)
if last and last > ARGV[2] then return { 'REFUSED', now } end
keep_number(ARGV[2])
put(ARGV[1], ARGV[2], ARGV[4], ARGV[3])
return { 'DONE', now }
