-- KEYS, ARGV: see head.lua
if not admit(false) then
  return { 'stale' }
end
awake()
if not taken() then
  return { 'nothold' }
end
local h = hold()
if several() then
  for _, c in ipairs(redis.call('HKEYS', shares)) do
    local s = share(c)
    if s and int(math.max(s.turn, s.fence)) == turn then
      h = s
    end
  end
end
local top = int(reserved)
if h then
  top = int(math.max(h.turn, h.fence))
else -- what was reserved and not given, when the last hold of lockgw ended, does not count
  local given, then_reserved = string.match(redis.call('GET', last) or '', '^(%d+) (%d+)')
  if then_reserved == top then
    top = given
  end
end
if turn ~= top or several() and not h then
  return { 'fence' }
end
if h then
  if not h.share then
    put(last, top .. ' ' .. int(reserved) .. (wary and ' ' .. server() or ''))
  end
  redis.call('PUBLISH', channel_of(h.by, h.inc), 'b ' .. h.fence .. ' ' .. slot_of(h.by) .. ' ' .. name)
  let_go(h, delay)
else
  local found = stranger(lock)
  if not found then
    return { 'conflict' } -- it may be data of somebody
  end
  if found ~= owner or redis.call('PTTL', lock) > tonumber(ttl) then
    return { 'fence' } -- another one, or the holder has prolonged it since
  end
  free(delay)
end
return pass_on()
