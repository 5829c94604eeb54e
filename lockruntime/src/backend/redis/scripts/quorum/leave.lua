-- Leaves the courtesy queue; if the lock is free here, the first in line gets a sign.
-- ARGV: 1 the ticket's name   Answers: 1
drop(ARGV[1])
if redis.call('EXISTS', L) == 0 then
  clock()
  sign()
end
return 1
