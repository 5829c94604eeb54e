-- Leaves the queue, and gives the lock on if it was granted meanwhile. ARGV and answers as in withdraw.lua.
clock()
drop(ARGV[2])
local answer = give_back(ARGV[1])
table.insert(answer, 1, now)
return answer
