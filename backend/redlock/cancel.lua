-- KEYS, ARGV: see head.lua. What it ends was given to nobody. force: it never was a
-- hold, but the ballot of an acquire that has failed.
if not admit(true) then
  return { 'stale' }
end
local left = string.match(redis.call('HGET', waits, me) or '', '^%d+ (%d+) ') == attempt
if left then
  redis.call('HDEL', waits, me)
end
local h = hold()
if mine(h) and (h.fence == the_hold or h.seq == attempt) then
  bury(tonumber(h.fence), tonumber(h.before), force)
  free(h.fence)
elseif the_hold ~= '0' then
  bury(tonumber(the_hold), given, force)
end
if left and not h and not taken() then
  tell(int(reserved)) -- the sender may have been told, and is not going to ask
end
return { 'done' }
