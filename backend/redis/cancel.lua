-- KEYS, ARGV: see head.lua
if not admit(true) then
  return { 'stale' }
end
awake()
local h = hold()
if mine(h) and h.fence == the_hold then
  dequeue(me)
  free('0')
end
withdraw()
return pass_on()
