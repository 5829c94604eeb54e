-- Gives the lock on, or frees it.
-- ARGV: 1 ticket, 2 this process's channel or ''
-- Answers: {'FREE'}, {'PASSED'} to another process, {'NEXT', ticket, number, token} to a waiter of this one for its whole
--          lease, {'ABSENT'} or {'OTHER'}: not this ticket's, nothing was changed
return hand_over(ARGV[1], ARGV[2])
