-- KEYS, ARGV: see head.lua
if not admit(false) then
  return { 'stale' }
end
awake()
if not taken() then
  return { 'nothold' }
end
local h = hold()
local newest = int(reserved)
if h then
  newest = int(math.max(h.turn, h.fence))
else -- what was reserved and not given, when the last hold of lockgw ended, does not count
  local given, then_reserved = string.match(redis.call('GET', last) or '', '^(%d+) (%d+)$')
  if then_reserved == newest then
    newest = given
  end
end
if turn ~= newest then
  return { 'fence' }
end
if h then
  put(last, newest .. ' ' .. int(reserved))
  redis.call('PUBLISH', channel_of(h.by, h.inc), 'b ' .. h.fence .. ' ' .. slot_of(h.by) .. ' ' .. name)
end
free(delay)
return pass_on()
