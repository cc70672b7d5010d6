-- KEYS, ARGV: see common.lua
if not admit(false) then
  return { 'stale' }
end
local h = hold()
if not mine(h) or h.fence ~= the_hold then
  return { 'nothold' }
end
return lease(h)
