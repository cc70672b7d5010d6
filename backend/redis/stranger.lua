-- stranger is what tells a lock that is not of lockgw from another, nil if it is none: a
-- string, whose value may be a secret of its holder, or a hash with one owner. A thread is any
-- long of Java, also one below 0.
local function stranger(key)
  local kind = redis.call('TYPE', key).ok
  if kind == 'string' then
    return 'string ' .. redis.sha1hex(redis.call('GET', key))
  elseif kind ~= 'hash' or redis.call('HLEN', key) ~= 1 then
    return nil
  end
  local owner = redis.call('HKEYS', key)[1]
  if owner == 'lockgw:delay' or string.match(owner, '^%x+%-%x+%-%x+%-%x+%-%x+:%-?%d+$') then
    return 'hash ' .. owner
  end
end
