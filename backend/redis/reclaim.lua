-- KEYS, ARGV: see head.lua
if not admit(true) then
  return { 'stale' }
end
awake()
dequeue(me)
local h = held_by(me)
if h and h.fence == the_hold then
  if h.inc ~= inc or h.seq ~= seq then -- else a repeat
    h.block, h.turns = reserve(turns, least), turns
    h.inc, h.seq, h.provisional = inc, seq, false
    describe(h)
  end
  prolong(h)
  return granted(h)
end
if h then
  let_go(h, '0')
end
return pass_on()
