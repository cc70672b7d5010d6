-- KEYS, ARGV: see head.lua
if not admit(false) then
  return { 'stale' }
end
local h = hold()
if not mine(h) or h.fence ~= the_hold then
  return { (taken() or tonumber(the_hold) <= over) and 'nothold' or 'missing' }
end
if tonumber(seq) >= tonumber(h.described) then
  describe(h)
end
return { 'done' }
