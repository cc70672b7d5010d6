-- KEYS, ARGV: see head.lua. hold 0: of somebody outside lockgw.
local h = hold() or share_at(the_hold)
if h then
  if h.fence ~= the_hold then
    return { 'other' }
  end
  if tonumber(h.turn) > tonumber(turn) then
    return { 'fence' }
  end
  local by = h.by
  bury(tonumber(h.fence), math.max(h.fence, turn), false)
  redis.call('PUBLISH', channel_of(by, h.inc), 'b ' .. h.fence .. ' ' .. slot_of(by) .. ' ' .. name)
  free(h, h.fence)
elseif the_hold == '0' and taken() then
  local found = stranger(lock)
  if not found then
    return { 'conflict' } -- it may be data of somebody
  end
  if not string.find(owner, found .. ' ', 1, true) or redis.call('PTTL', lock) > ttl + 1000 then -- servers are asked one after another
    return { 'other' } -- another one, or the holder has prolonged it since
  end
  free(nil, turn)
elseif the_hold ~= '0' then
  bury(tonumber(the_hold), given, false)
end
return { 'done' }
