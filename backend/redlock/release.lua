-- KEYS, ARGV: see head.lua. force: mark the sender in any case, it makes room.
if not admit(true) then
  return { 'stale' }
end
local h = hold()
if mine(h) and (h.fence == the_hold or h.seq == attempt) then
  local newest = h.fence == the_hold and turn or h.turn
  bury(tonumber(h.fence), math.max(h.fence, newest))
else
  h = nil
  if the_hold ~= '0' then
    bury(tonumber(the_hold), given) -- a late request must not set it here
  end
end
local word = 'done'
if wants_queue then
  if force or others() == 1 then
    redis.call('HDEL', waits, me) -- to the end of the line
    mark()
    word = 'queued'
  end
elseif string.match(redis.call('HGET', waits, me) or '', '^%d+ (%d+) ') == attempt then
  redis.call('HDEL', waits, me)
end
if h then
  free(h.fence)
end
return { word }
