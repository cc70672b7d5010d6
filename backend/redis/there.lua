-- The answer is the name as it is now: the record; whether the lock is gone (0), as it
-- has to be (1) or somebody else's (2), and then its rest, a field and the number in it;
-- clock; Redisson's counter, if that is why a swap was refused; what tells the lock of somebody
-- else from another, if it is one; 1 if it is a Redisson read-write lock.
clock = clock or call('TIME')
local state, left, field, seen, rw = 1, 0, {}, '', 0
local has = was and redis.pcall('HEXISTS', lock, was)
if type(has) == 'table' and not find(has.err, 'WRONGTYPE', 1, true) then
  return has -- whoever may not ask knows nothing of the lock
end
if has ~= 1 then
  state = call('EXISTS', lock) == 1 and 2 or 0
end
if state == 2 then
  left = math.min(call('PTTL', lock), 9e12) -- more, as of what is to last for ever, is no number of Redis with a minute added
  if h ~= '' then -- who waits looks again before that
    call('PEXPIRE', record, math.max(left, 0) + 1.5 * minute, 'GT')
  end
  if call('TYPE', lock).ok == 'hash' then
    field = call('HRANDFIELD', lock, 2, 'WITHVALUES')
    if field[1] == 'mode' and field[3] then
      field[1], field[2] = field[3], field[4]
    end
    local mode = call('HGET', lock, 'mode')
    if mode == 'read' or mode == 'write' then
      rw = 1
    end
  end
  --STRANGER--
  seen = stranger(lock) or ''
end
return {
  0, whole and h or call('GET', record), clock[1], clock[2], state, left, field[1] or '', field[2] or '',
  raise and format('%.0f', raise) or '', seen, rw,
}
