-- Which of the commands that the scripts of lockgw use this user may not use, each with what
-- forbids it. A script that is stopped half-way leaves what it has written, and where it asks by
-- pcall a refusal looks like an answer.
--
-- KEYS 1 of nobody   ARGV 1 channels, behind the commands that publish there
--
-- Redis asks for the right before it looks at the type: so one short string is enough, and no key
-- without an end is made where the first command is forbidden.
local key, lacks = KEYS[1], {}
local function may(...)
  local r = redis.pcall(...)
  local err = type(r) == 'table' and r.err or ''
  if string.find(err, "executing the script can't") or string.find(err, 'ACL failure') or string.find(err, '^NOPERM') or
      string.find(err, 'nknown Redis command') then
    lacks[#lacks + 1] = string.find(err, 'channel') and select(1, ...) .. ' ' .. select(2, ...) or select(1, ...)
    return false
  end
  return true
end
if may('SET', key, '', 'PX', '1000') then
  may('HSET', key, 'f', '1')
  may('APPEND', key, '1')
  may('SETRANGE', key, '0', '1')
end
may('GET', key)
may('GETRANGE', key, '0', '0')
may('EXISTS', key)
may('TYPE', key)
may('PTTL', key)
may('PEXPIRE', key, '1000')
may('PEXPIREAT', key, '1', 'LT')
may('HGET', key, 'f')
may('HEXISTS', key, 'f')
may('HLEN', key)
may('HKEYS', key)
may('HRANDFIELD', key, '1')
may('HDEL', key, 'f')
may('TIME')
for i = 1, #ARGV, 2 do
  may(ARGV[i], ARGV[i + 1], '')
end
may('DEL', key)
return lacks
