-- KEYS, ARGV: see head.lua. Sets a hold that its node has on others again where it is
-- missing, unless the name was another's meanwhile.
if not admit(false) then
  return { 'stale' }
end
if taken() or tonumber(the_hold) <= over or given > tonumber(known) then
  return { 'nothold' }
end
make(the_hold, ballot, the_hold - 1, seq)
return { 'done' }
