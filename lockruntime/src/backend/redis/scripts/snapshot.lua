-- Looks, changes nothing.
-- ARGV: 1 how many tickets at the most   Answers: {now, record or '', left ms, name, number, dies at, ...}
clock()
local answer = { now, redis.call('GET', L) or '', redis.call('PTTL', L) }
local members = redis.call('ZRANGE', Q, 0, ARGV[1] - 1, 'WITHSCORES')
for i = 1, #members, 2 do
  answer[#answer + 1] = members[i]
  answer[#answer + 1] = string.format('%.0f', members[i + 1])
  answer[#answer + 1] = tonumber(redis.call('HGET', W, 'd' .. members[i]) or 0)
end
return answer
