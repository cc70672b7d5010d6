-- KEYS, ARGV: see head.lua
if not admit(true) then
  return { 'stale' }
end
awake()
local h = held_by(me)
if h and h.fence == the_hold then
  dequeue(me)
  let_go(h, '0')
end
withdraw()
return pass_on()
