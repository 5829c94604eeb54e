-- Frees the lock on one node of a quorum, if this bid owns it, and gives the first in line a sign.
-- ARGV: 1 the bid's id, 2 its ticket, 3 its token, 16 digits, 4 or missing: ms for which the lock stays all the same, a minimum
--       hold
-- Answers: 1 it was the bid's, 0 it wasn't
local record = redis.call('GET', L)
if not record or not is_ours(record) then return 0 end
local owner = owner_of(record)
if owner ~= ARGV[1] and (owner ~= ARGV[2] or string.sub(record, 60, 75) ~= ARGV[3]) then return 0 end
if ARGV[4] then
  redis.call('PEXPIRE', L, ARGV[4])
  return 1
end
redis.call('DEL', L)
clock()
sign()
return 1
