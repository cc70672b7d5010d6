-- KEYS, ARGV: see common.lua
if not admit(true) then
  return { 'stale' }
end
local h = hold()
if mine(h) and h.fence == the_hold then
  dequeue(me)
  free(0)
end
withdraw(tonumber(ARGV[10]))
return pass_on()
