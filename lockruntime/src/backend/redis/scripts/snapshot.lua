-- Looks, changes nothing.
-- KEYS: as in shared/prelude.lua
-- ARGV: 1 how many holds and tickets at the most
-- Answers: {micros of the server's clock, record or '', left ms, {ticket, ends at, token and rest, ...}, name, number, dies at, what
--          is needed to grant it or '', ...}
local H, R = KEYS[5], KEYS[6]
clock()
local answer = { string.format('%.0f', micros), redis.call('GET', L) or '', redis.call('PTTL', L), {} }
if is_ours(answer[2]) and owner_of(answer[2]) == ALL then
  local holds = redis.call('ZRANGE', H, 0, ARGV[1] - 1, 'WITHSCORES')
  for i = 1, #holds, 2 do
    local stored = redis.call('HGET', R, holds[i])
    for _, part in ipairs({ holds[i], tonumber(holds[i + 1]), stored or '' }) do table.insert(answer[4], part) end
  end
end
local members = redis.call('ZRANGE', Q, 0, ARGV[1] - 1, 'WITHSCORES')
for i = 1, #members, 2 do
  local ticket = redis.call('HMGET', W, 'd' .. members[i], 'r' .. members[i])
  answer[#answer + 1] = members[i]
  answer[#answer + 1] = string.format('%.0f', members[i + 1])
  answer[#answer + 1] = tonumber(ticket[1] or 0)
  answer[#answer + 1] = ticket[2] or ''
end
return answer
