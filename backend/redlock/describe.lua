-- KEYS, ARGV: see head.lua
if not admit(false) then
  return { 'stale' }
end
local h = held_by(me)
if not h or h.fence ~= the_hold then
  return { missing() }
end
if tonumber(seq) >= tonumber(h.described) then
  describe(h)
end
return { 'done' }
