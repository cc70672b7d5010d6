-- KEYS, ARGV: see head.lua
if not admit(true) then
  return { 'stale' }
end
redis.call('HDEL', waits, me)
local h = held_by(me)
if not h then
  return { 'done' }
end
if h.fence ~= the_hold then
  bury(tonumber(h.fence), math.max(h.turn, h.fence, h.share and given or 0), h.share)
  free(h, h.fence)
  return { 'done' }
end
local repeated = h.inc == inc and h.seq == seq
if not repeated or (force and tonumber(h.block) < tonumber(ballot)) then
  if tonumber(ballot) <= reserved then
    return { 'floor', int(reserved) }
  end
  h.inc, h.seq = inc, seq
  describe(h)
  reserve(h, ballot)
end
prolong(h)
return { 'granted', h.fence, h.block, h.turns, others(), h.permit or '-' }
