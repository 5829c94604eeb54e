-- Leaves the queue, and gives the lock on if it was granted meanwhile.
-- ARGV: 1 ticket, 2 its name, 3 this process's channel or ''   Answers: {now, answer of release...}
clock()
drop(ARGV[2])
local answer = hand_over(ARGV[1], ARGV[3])
table.insert(answer, 1, now)
return answer
