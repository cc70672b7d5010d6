-- KEYS, ARGV: see head.lua. hold 0: of somebody outside lockgw.
local h = hold()
if h then
  if h.fence ~= the_hold then
    return { 'other' }
  end
  if tonumber(h.turn) > tonumber(turn) then
    return { 'fence' }
  end
  bury(tonumber(h.fence), math.max(h.fence, turn))
  redis.call('PUBLISH', channel_of(h.by, h.inc), 'b ' .. h.fence .. ' ' .. slot_of(h.by) .. ' ' .. name)
  free(h.fence)
elseif the_hold == '0' and taken() then
  free(turn)
elseif the_hold ~= '0' then
  bury(tonumber(the_hold), given)
end
return { 'done' }
