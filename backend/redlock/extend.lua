-- KEYS, ARGV: see head.lua
if not admit(true) then
  return { 'stale' }
end
local h = hold()
if wants_queue then -- perhaps a repeat of one that has let go already, and asked again
  local marked = string.match(redis.call('HGET', waits, me) or '', '^%d+ (%d+) ')
  if marked == seq or (mine(h) and h.seq == seq and h.inc == inc and h.fence ~= the_hold) then
    return { 'again' }
  end
end
if not mine(h) or h.fence ~= the_hold then
  return { (taken() or tonumber(the_hold) <= over) and 'nothold' or 'missing' }
end
if tonumber(h.block) <= tonumber(known) or (force and tonumber(h.block) < tonumber(ballot)) then -- else a repeat
  if others() == 1 then
    prolong()
    return { 'others' }
  end
  if tonumber(ballot) <= reserved then
    return { 'floor', int(reserved) }
  end
  redis.call('HSET', state, 'block', ballot, 'turns', turns)
  h.block, h.turns, reserved = ballot, turns, ballot + turns - 1
  put(counter, int(reserved))
end
prolong()
return { 'granted', h.fence, h.block, h.turns, others() }
