-- KEYS, ARGV: see head.lua
if not admit(true) then
  return { 'stale' }
end
local h = held_by(me)
if wants_queue then -- perhaps a repeat of one that has let go already, and asked again
  local w = mark_of(me)
  if (w and w.seq == seq) or (h and h.seq == seq and h.inc == inc and h.fence ~= the_hold) then
    return { 'again' }
  end
end
if not h or h.fence ~= the_hold then
  return { missing() }
end
if tonumber(h.block) <= tonumber(known) or (force and tonumber(h.block) < tonumber(ballot)) then -- else a repeat
  if others() == 1 then
    prolong(h)
    return { 'others' }
  end
  if tonumber(ballot) <= reserved then
    return { 'floor', int(reserved) }
  end
  reserve(h, ballot)
end
prolong(h)
return { 'granted', h.fence, h.block, h.turns, others(), h.permit or '-' }
