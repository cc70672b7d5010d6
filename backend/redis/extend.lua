-- KEYS, ARGV: see head.lua
if not admit(true) then
  return { 'stale' }
end
awake()
local h = hold()
if wants_queue then -- a repeat of one that has let go already
  local e = entry(me)
  if (mine(h) and h.seq == seq) or (e and e.seq == seq) then
    return contend()
  end
end
if not mine(h) or h.fence ~= the_hold then
  return { 'nothold' }
end
if h.block == block then -- else a repeat: the block is reserved
  if others_wait() then
    if wants_queue then
      free('0')
      return contend()
    end
    prolong()
    return { 'others' }
  end
  h.block, h.turns = reserve(turns, least), turns
  redis.call('HSET', state, 'block', h.block, 'turns', turns)
end
prolong()
return granted(h)
