-- KEYS, ARGV: see head.lua. Sets a hold that its node has on others again where it is
-- missing, unless the name was another's meanwhile.
if not admit(false) then
  return { 'stale' }
end
if tonumber(the_hold) <= math.max(over, share_over) then
  return { 'nothold' }
end
if mode == '0' then
  if taken() or given > tonumber(known) then
    return { 'nothold' }
  end
elseif taken() and (several() ~= mode or share(me) or redis.call('HEXISTS', shares, '#' .. permit) == 1) then
  return { 'nothold' }
end
make(the_hold, ballot, the_hold - 1, seq)
return { 'done' }
