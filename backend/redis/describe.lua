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
  redis.call('HSET', lock, owner, count)
  if h.owner ~= owner then -- not before: without a field the key would be gone, and its expiry
    redis.call('HDEL', lock, h.owner)
  end
  redis.call('HSET', state, 'owner', owner, 'turn', turn, 'record', record, 'described', seq)
end
return { 'done', 0 }
