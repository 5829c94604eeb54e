-- First round of a bid on one node of a quorum: owns the lock here if it is free and nobody waits before this ticket.
-- KEYS: 5 the marker: since when this node has data; 0 = nothing was ever lost
-- ARGV: 1 the bid's id, 2 the ticket's name in the queue, 3 lease ms, 4 the record's rest from its first comma on, 5 the last
--       moment at which this may be executed, ms of this server, 6 how long a node that lost its data isn't counted, ms
-- Answers: {'STALE', now}             too late, nothing was changed
--          {'NEWBORN', now, left}     the node has no data, and isn't counted for so many ms unless all are so
--          {'QUEUED', now, left}      another ticket is first in line; left: ms that the holder has, if any
--          {'HELD', now, left}        another's
--          {'GRANTED', now, last, micros}   last: the greatest number known here
local id, me, lease = ARGV[1], ARGV[2], ARGV[3]
clock()
if now > tonumber(ARGV[5]) then return { 'STALE', now } end

local MARK = 2592000000 -- ms that the marker outlives its last use
local since = redis.call('GET', KEYS[5])
if not since then
  since = now
  redis.call('SET', KEYS[5], string.format('%.0f', now), 'PX', MARK)
end
since = tonumber(since)
if not since then return redis.error_reply('FOREIGN ' .. KEYS[5] .. ' holds something that is not ours') end

local record, left = redis.call('GET', L), 0
if record then
  if not is_ours(record) then return redis.error_reply('FOREIGN ' .. L .. ' holds something that is not ours') end
  left = redis.call('PTTL', L)
end
-- the queue first: while the lock is being freed node by node, nobody may slip in before those who wait
local first, _, _, more = head()
if more or (first and first ~= me) then return { 'QUEUED', now, left } end
if record and owner_of(record) ~= id then return { 'HELD', now, left } end
-- a node that has somebody's lock has data: only what is free is doubtful
if since > 0 then
  local left = since + ARGV[6] - now
  if left > 0 then return { 'NEWBORN', now, left } end
end
if redis.call('PTTL', KEYS[5]) < MARK / 2 then redis.call('PEXPIRE', KEYS[5], MARK) end

put(id, '0000000000000000', ARGV[4], lease)
return { 'GRANTED', now, redis.call('GET', N) or 0, string.format('%.0f', micros) }
