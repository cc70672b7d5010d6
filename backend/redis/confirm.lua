-- KEYS, ARGV: see head.lua
if not admit(false) then
  return { 'stale' }
end
awake()
local h = held_by(me)
if not h or h.fence ~= the_hold or not known() then
  return { 'nothold' }
end
return lease(h)
