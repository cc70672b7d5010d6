-- KEYS, ARGV: see head.lua. It was admitted by release_quick.lua.
awake()
local h = hold()
if mine(h) and h.fence == the_hold then
  given()
  free(delay)
end
if wants_queue then
  return contend()
end
withdraw()
return pass_on()
