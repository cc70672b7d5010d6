-- KEYS, ARGV: see head.lua
if not admit(true) then
  return { 'stale' }
end
awake()
if worn(turns) then
  return refuse()
end
dequeue(me)
local h = held_by(me)

-- forgotten: the server may have lost the hold that the sender had, and has granted
-- none since that would not go with it; what it has in its place is older. One of
-- several has others beside it that were granted later.
local function forgotten()
  if the_hold == '0' or known() or mode == '0' and reserved > tonumber(least) then
    return false
  end
  local other = h or hold()
  if other then
    return tonumber(other.fence) < tonumber(the_hold)
  end
  return not taken() or room(mode)
end

if (not h or h.fence ~= the_hold) and forgotten() then
  if h or hold() then
    let_go(h or hold(), '0')
  end
  h = restore()
end
if h and h.fence == the_hold then
  if h.inc ~= inc or h.seq ~= seq then -- else a repeat
    h.block, h.turns = reserve(turns, least), turns
    h.inc, h.seq, h.provisional = inc, seq, false
    describe(h)
  end
  prolong(h)
  return granted(h)
end
if h then
  let_go(h, '0')
end
return pass_on()
