-- Looks, changes nothing.
-- ARGV: 1 how many tickets at the most
-- Answers: {micros of the server's clock, record or '', left ms, name, number, dies at, what is needed to grant it or '', ...}
clock()
local answer = { string.format('%.0f', micros), redis.call('GET', L) or '', redis.call('PTTL', L) }
local members = redis.call('ZRANGE', Q, 0, ARGV[1] - 1, 'WITHSCORES')
for i = 1, #members, 2 do
  local ticket = redis.call('HMGET', W, 'd' .. members[i], 'r' .. members[i])
  answer[#answer + 1] = members[i]
  answer[#answer + 1] = string.format('%.0f', members[i + 1])
  answer[#answer + 1] = tonumber(ticket[1] or 0)
  answer[#answer + 1] = ticket[2] or ''
end
return answer
