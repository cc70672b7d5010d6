-- KEYS, ARGV: see head.lua. It was admitted by acquire_quick.lua.
awake()
if not known() then
  return { 'strange', server() }
end
return contend()
