-- KEYS, ARGV: see head.lua. It was admitted by release_quick.lua.
awake()
local h = held_by(me)
if h and h.fence == the_hold then
  if not h.share then
    given()
  end
  let_go(h, delay)
end
if wants_queue and not worn(turns) then -- else it asks again, and is told
  return contend()
end
withdraw()
return pass_on()
