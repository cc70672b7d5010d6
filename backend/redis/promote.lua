-- KEYS, ARGV: see head.lua
if not admit(false) then
  return { 'stale' }
end
awake()
return pass_on()
