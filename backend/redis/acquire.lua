-- KEYS, ARGV: see common.lua
if not admit(true) then
  return { 'stale' }
end
return contend()
