-- Tries every command that the other scripts call, on keys that no lock has; writes nothing.
-- KEYS: as in the prelude, of a lock whose key is empty, which no lock's is
-- ARGV: 1 the channel of this process, 2 a name, 3 a number, 4 another name
-- Answers: {seconds, micros, refused command, what the server said, ...}
local L, Q, W, N = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local time = redis.pcall('TIME')
local answer = { time[1] or '0', time[2] or '0' }
local function try(name, ...)
  local said = redis.pcall(name, ...)
  if type(said) == 'table' and said.err then
    answer[#answer + 1] = name
    answer[#answer + 1] = said.err
  end
end
try('TIME')
try('EXISTS', L, Q)
try('GET', L)
try('GET', N)
try('SET', L, ARGV[2], 'XX', 'PX', ARGV[3])
try('SET', N, ARGV[2], 'XX', 'PX', ARGV[3])
try('PTTL', L)
try('PEXPIRE', L, ARGV[3])
try('DEL', L)
try('ZADD', Q, 'XX', ARGV[3], ARGV[2])
try('ZCARD', Q)
try('ZRANGE', Q, 0, 0)
try('ZRANK', Q, ARGV[2])
try('ZREM', Q, ARGV[2])
try('ZSCORE', Q, ARGV[2])
try('HSET', W, ARGV[2], ARGV[3], ARGV[4]) -- a value short: the right is looked at first, then this is refused
try('HEXISTS', W, ARGV[2])
try('HGET', W, ARGV[2])
try('HMGET', W, ARGV[2])
try('HDEL', W, ARGV[2])
try('PUBLISH', ARGV[1], '')
return answer
