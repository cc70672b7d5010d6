-- KEYS, ARGV: see head.lua
if not admit(true) then
  return { 'stale' }
end
redis.call('HDEL', waits, me)
local h = hold()
if not mine(h) then
  return { 'done' }
end
if h.fence ~= the_hold then
  bury(tonumber(h.fence), math.max(h.turn, h.fence))
  free(h.fence)
  return { 'done' }
end
local repeated = h.inc == inc and h.seq == seq
if not repeated or (force and tonumber(h.block) < tonumber(ballot)) then
  if tonumber(ballot) <= reserved then
    return { 'floor', int(reserved) }
  end
  redis.call('HSET', state, 'inc', inc, 'seq', seq, 'block', ballot, 'turns', turns)
  describe(h)
  h.block, h.turns, reserved = ballot, turns, ballot + turns - 1
  put(counter, int(reserved))
end
prolong()
return { 'granted', h.fence, h.block, h.turns, others() }
