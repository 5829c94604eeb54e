-- Gives the first in line a sign that it may try: a hint, with a number that no place has.
local function sign()
  local first, _, channel = head()
  if first and channel ~= '' then redis.pcall('PUBLISH', channel, string.sub(first, -32) .. ' 0 0') end
end
