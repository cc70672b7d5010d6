-- KEYS, ARGV: see head.lua
if not admit(false) then
  return { 'stale' }
end
awake()
local h = hold()
if not mine(h) or h.fence ~= the_hold then
  return { 'nothold' }
end
if tonumber(seq) >= tonumber(redis.call('HGET', state, 'described') or '0') then
  describe(h)
end
return { 'done', 0 }
