-- Second round of a bid on one node of a quorum: writes the token back, if the bid still owns the lock here. From now on its
-- ticket owns it under this token.
-- ARGV: 1 the bid's id, 2 the ticket's name in the queue, 3 ticket, 4 token, 16 digits, 5 lease ms, 6 the record's rest
-- Answers: 1 done, 0 refused
local record = redis.call('GET', L)
if not record or not is_ours(record) or owner_of(record) ~= ARGV[1] then return 0 end
-- digits of one length compare as numbers do
local last = redis.call('GET', N)
if last and last >= ARGV[4] then return 0 end
drop(ARGV[2])
keep_number(ARGV[4])
put(ARGV[3], ARGV[4], ARGV[6], ARGV[5])
return 1
