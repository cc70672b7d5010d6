-- KEYS, ARGV: see common.lua
if not admit(false) then
  return { 'stale' }
end
local h = hold()
if not mine(h) or h.fence ~= the_hold then
  return { 'nothold' }
end
local turn = tonumber(ARGV[18])
if turn >= h.turn then
  redis.call('HSET', lock, owner, ARGV[12])
  if h.owner ~= owner then -- not before: without a field the key would be gone, and its expiry
    redis.call('HDEL', lock, h.owner)
  end
  redis.call('HSET', state, 'owner', owner, 'turn', int(turn), 'record', ARGV[20])
end
return { 'done', 0 }
