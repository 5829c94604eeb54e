-- Gives the lock on, or frees it.
-- ARGV: 1 ticket, 2 this process's channel or '', 3 or missing: ms for which the lock stays all the same, a minimum hold
-- Answers: {'FREE'}, {'PASSED'} to another process, {'NEXT', ticket, number, token} to a waiter of this one for its whole
--          lease, {'KEPT'} as 3 says, {'ABSENT'} or {'OTHER'}: not this ticket's, nothing was changed
if ARGV[3] then
  local no = not_held(ARGV[1])
  if no then return no end
  redis.call('PEXPIRE', L, ARGV[3])
  return { 'KEPT' }
end
return hand_over(ARGV[1], ARGV[2])
