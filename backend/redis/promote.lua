-- KEYS, ARGV: see common.lua
if not admit(false) then
  return { 'stale' }
end
return pass_on()
