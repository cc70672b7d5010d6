-- KEYS, ARGV: see head.lua
if not admit(true) then
  return { 'stale' }
end
awake()
local h = held_by(me)
if wants_queue then -- a repeat of one that has let go already
  local e = entry(me)
  if (h and h.seq == seq) or (e and e.seq == seq) then
    return contend()
  end
end
if not h or h.fence ~= the_hold then
  return { 'nothold' }
end
if h.block == block then -- else a repeat: the block is reserved
  if worn(turns) then
    return refuse()
  end
  if others_wait() then
    if wants_queue then
      let_go(h, '0')
      return contend()
    end
    prolong(h)
    return { 'others' }
  end
  h.block, h.turns = reserve(turns, least), turns
  write(h)
end
prolong(h)
return granted(h)
