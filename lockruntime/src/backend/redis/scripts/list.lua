-- Looks at one lock of a list, changes nothing.
-- ARGV: 1 how many tickets at the most
-- Answers: {micros of the server's clock, record or '' or nil when it is no text, left ms or -1 for ever, how many wait, arrival
--          number of the first, ...}
clock()
local record = redis.pcall('GET', L)
if type(record) == 'table' then record = false else record = record or '' end
local answer = { string.format('%.0f', micros), record, redis.call('PTTL', L), redis.call('ZCARD', Q) }
local members = redis.call('ZRANGE', Q, 0, ARGV[1] - 1, 'WITHSCORES')
for i = 2, #members, 2 do
  answer[#answer + 1] = string.format('%.0f', members[i])
end
return answer
