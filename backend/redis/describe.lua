-- KEYS, ARGV: see common.lua
if not admit(false) then
  return { 'stale' }
end
local h = hold()
if not mine(h) or h.fence ~= the_hold then
  return { 'nothold' }
end
if seq >= tonumber(redis.call('HGET', state, 'described') or '0') then
  redis.call('HSET', lock, owner, ARGV[12])
  if h.owner ~= owner then -- not before: without a field the key would be gone, and its expiry
    redis.call('HDEL', lock, h.owner)
  end
  redis.call('HSET', state, 'owner', owner, 'turn', ARGV[18], 'record', ARGV[20], 'described', int(seq))
end
return { 'done', 0 }
