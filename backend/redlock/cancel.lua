-- KEYS, ARGV: see head.lua. What it ends was given to nobody. force: it never was a
-- hold, but a ballot of an acquire that has failed, which goes on with later ones.
if not admit(true) then
  return { 'stale' }
end
local w = mark_of(me)
local left = not force and w and w.seq == attempt
if left then
  redis.call('HDEL', waits, me)
end
local h = held_by(me)
local ours = h and h.seq == attempt
if force then
  ours = ours and h.inc == inc and tonumber(h.fence) <= tonumber(the_hold)
end
if ours or h and h.fence == the_hold then
  local newest = h.share and tonumber(h.fence) < reserved and given or tonumber(h.before)
  bury(tonumber(h.fence), newest, h.share, force)
  free(h, h.fence)
elseif the_hold ~= '0' then
  bury(tonumber(the_hold), given, true, force)
end
if left and not h and (not taken() or several() == '-1' or room()) then
  tell(taken() and 0 or int(reserved)) -- the sender may have been told, and is not going to ask, or barred the way
end
return { 'done' }
