-- KEYS, ARGV: see head.lua. It was admitted by acquire_quick.lua.
awake()
return contend()
