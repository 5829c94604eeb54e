-- The node is counted from now on. Only for a quorum of which no node has any data.
-- KEYS: 1 the marker   Answers: 1
redis.call('SET', KEYS[1], '0', 'PX', 2592000000)
return 1
