-- KEYS, ARGV: see common.lua
if not admit(true) then
  return { 'stale' }
end
local h, attempt, e = hold(), tonumber(ARGV[10]), entry(me)
if (e and e.seq == attempt) or (mine(h) and h.fence == the_hold) then
  dequeue(me)
end
if mine(h) and (h.seq == attempt or h.fence == the_hold) then
  free(0)
end
return pass_on()
