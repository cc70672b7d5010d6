-- KEYS, ARGV: see head.lua. force: mark the sender in any case, it makes room.
if not admit(true) then
  return { 'stale' }
end
local h = held_by(me)
if h and (h.fence == the_hold or h.seq == attempt) then
  local newest = math.max(h.fence, h.fence == the_hold and turn or h.turn)
  bury(tonumber(h.fence), h.share and math.max(newest, given) or newest, h.share)
else
  h = nil
  if the_hold ~= '0' then
    bury(tonumber(the_hold), given, true) -- a late request of the sender must not set it here
  end
end
local word, w = 'done', mark_of(me)
if wants_queue then
  if force or others() == 1 then
    redis.call('HDEL', waits, me) -- to the end of the line
    mark()
    word = 'queued'
  end
elseif w and w.seq == attempt then
  redis.call('HDEL', waits, me)
end
if h then
  free(h, h.fence)
end
return { word }
