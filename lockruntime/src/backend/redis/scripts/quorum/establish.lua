-- The node is counted from now on. Only for a quorum of which no node has any data.
-- KEYS: 1 the marker
-- ARGV: 1 ms for which the node may have been without data, 2 the last moment at which this may be executed, ms of this server
-- Answers: {'STALE', now}, {'DONE', now} or {'OLD', now}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now > tonumber(ARGV[2]) then return { 'STALE', now } end
local since = tonumber(redis.call('GET', KEYS[1]) or now)
if since > 0 and now - since > tonumber(ARGV[1]) then return { 'OLD', now } end
redis.call('SET', KEYS[1], '0', 'PX', 2592000000)
return { 'DONE', now }
