-- KEYS, ARGV: see head.lua
if not admit(true) then
  return { 'stale' }
end
awake()
dequeue(me)
local h = hold()
if mine(h) and h.fence == the_hold then
  if h.inc ~= inc or h.seq ~= seq then -- else a repeat
    h.block, h.turns = reserve(turns, least), turns
    redis.call('HSET', state, 'inc', inc, 'seq', seq, 'block', h.block, 'turns', turns, 'provisional', '0')
    describe(h)
  end
  prolong()
  return granted(h)
end
if mine(h) then
  free('0')
end
return pass_on()
