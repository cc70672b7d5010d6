-- tell_by and fence_ttl, which stand before this, are of the configuration: how Redisson is
-- told that the name is free, and for how many ms its counter is made and outlives the leases,
-- 0: it is not made. evict, which stands there too, is false as a rule; see evict.lua.
--
-- ARGV 1 version that there has to be, "" for none   2 the next version   3 the record
--      4 newest fence   5 the lock that there will be: length and "@field" or "~field", as in
--      the record; "" none; "!" that of somebody else
-- and these, unless there will be none where a record was, and nobody in the queue:
--      6 the number in the field, or what to write into mode, "" if there is none   7 floor, if fences count from
--      a base; else ""   8 newest fence of the sender's own hold, if it has one; else ""
--      9 how long the record lasts, unless a lease that goes on lasts longer   10 how many
--      holds; then of each: id with "=" or "?", ms of the lease, then "+" if it
--      does not end earlier than it did; or ""
-- and, unless there is nothing of the kind: how many holds ended, their ids; of each
-- message the channel and the text; of "~" fields and numbers, as many as holds.
--
-- The answer to what is written is a number, the clock in us, or 1 where it was not looked at, if
-- all leases begin with it and nobody is told; else a list: 1, "id=end" of each hold, the clock,
-- what the fences count from, rest of the lock of somebody else, how many have heard each message.
-- What is refused leaves the loop, and there.lua answers. Nothing is changed before all is
-- checked, but for a field of the lock whose removal is the last check.
repeat
  if sub(h, 1, 22) ~= ARGV[1] then
    break
  end
  local will, own, floor, after, ended, ms = ARGV[5], '', '', 6, 0, 0
  local short = will == '' and cut and ARGV[6] ~= ''
  if not short then
    floor, own, after = ARGV[7], ARGV[8], 11 + 2 * ARGV[10]
  end
  if ARGV[after] then
    ended = tonumber(ARGV[after])
  end
  if after > 11 or ended > 0 or will == '!' then
    clock = call('TIME')
    ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
  end

  -- end_of is when a hold of the record ends, nil if there is none. They are asked for in the
  -- order in which they stand there, as a rule, so it looks behind the last one first: a name
  -- may have a thousand.
  local head, at = nil, from
  local function end_of(id, plain)
    head = head or sub(h, 1, cut or 0)
    local p, q = find(head, ' ' .. id, at, plain)
    if not p and at > from then
      p, q = find(head, ' ' .. id, from, plain)
    end
    at = q or at
    return p and tonumber(sub(head, q + 1, q + 13))
  end

  -- What is not over is not ended, unless the lock is gone.
  local early = false
  for i = after + 1, after + ended do
    early = early or (end_of(ARGV[i] .. '[=?]') or 0) > ms
  end
  if early and (not was or redis.pcall('HEXISTS', lock, was) == 1) then
    break
  end

  -- A fence of ours is above those that Redisson has given.
  local free = false -- free: the lock is known not to be there
  if own ~= '' then
    free = not was and call('EXISTS', lock, counter) == 0
    raise = not free and redis.pcall('GET', counter)
    if raise and (type(raise) ~= 'string' or (tonumber(raise) or 2^53) > 2^53 - 2^32) then
      return type(raise) == 'table' and not find(raise.err, 'WRONGTYPE', 1, true) and raise or redis.error_reply('COUNTER')
    end
    raise = raise and tonumber(raise) or nil
    if raise and floor == '' and raise >= tonumber(own) then
      local all = call('GET', record) or ''
      local base, top = string.match(all, '"base":(%d+)'), string.match(all, '"top":(%d+)')
      if top and tonumber(own) > base + top then
        break
      end
    end
  end

  -- The lock is as the record has it, or as it was seen. mine: it may be changed. Where the mark
  -- is to be looked at, which may be none, nothing is removed before.
  local base, cap, top = 0, sub(h, 24, 39), tonumber(ARGV[4])
  local reserves, goes = h == '' or KEYS[4] and top > tonumber(cap), false
  local mine = evict and evict()
  if evict then
    if not mine then
      break
    end
  elseif was then
    goes = kind == '@' and will ~= '!' and sub(will, 6) ~= was
    mine = redis.pcall(goes and not reserves and 'HDEL' or 'HEXISTS', lock, was) == 1
  end
  if mine then
    if will == '!' then
      break
    end
  elseif not free then
    if (call('EXISTS', lock) == 1) ~= (will == '!') then
      break
    end
    if was and will ~= '!' then -- it has run out, or was deleted; who kept a hold has not seen that
      local kept = false
      for i = 11, after - 1, 2 do
        kept = kept or (end_of(ARGV[i], true) or 0) > ms
      end
      if kept then
        break
      end
    end
  end

  if reserves then
    --RESERVE--
    base, cap = reserve(top, floor ~= '', math.max(tonumber(floor) or 0, raise or 0))
    top = top + base
    if mine and goes then
      call('HDEL', lock, was)
    end
  end
  local line, last, till = '', 0, '0000000000000'
  local parts = after > 13 and {} -- of several: a string that grows is copied each time
  for i = 11, after - 1, 2 do
    local id, e = ARGV[i], ms
    if ARGV[i + 1] ~= '' then
      if sub(ARGV[i + 1], -1) == '+' then
        e = math.max(ms + sub(ARGV[i + 1], 1, -2), end_of(id, true) or 0)
      else
        e = ms + ARGV[i + 1]
      end
    else
      e = end_of(id, true) or ms
    end
    local text = format('%.0f', e)
    if e > last then
      last, till = e, text
    end
    if base ~= 0 then
      id = format('%.0f', base + sub(id, 1, -2)) .. sub(id, -1)
    end
    line = ' ' .. id .. text
    if parts then
      parts[#parts + 1] = line
    end
  end
  if parts then
    line = table.concat(parts)
  end

  local several = sub(will, 5, 5) == '~'
  if mine and (evict or kind == '~' or several) then
    call('DEL', lock)
  end
  -- Who waits without lockgw sleeps until the end that it was told. It is told when the name is
  -- free, or may be earlier: what is only offered is, if nobody takes it.
  if mine and sub(will, 6) ~= was and (not find(line, '=', 1, true) or sub(will, 6) == 'lockgw:delay') then
    local tag = sub(record, 8)
    if sub(tag, 1, 7) == 'lockgw:' then
      tag = sub(tag, 8)
    end
    if tell_by ~= 'SPUBLISH' then
      call('PUBLISH', 'redisson_lock__channel:' .. tag, '0')
    end
    if tell_by ~= 'PUBLISH' then
      call('SPUBLISH', 'redisson_lock__channel:' .. tag, '0')
    end
  end
  if will ~= '' and will ~= '!' then
    if several then
      call('HSET', lock, 'mode', ARGV[6], unpack(ARGV, #ARGV - after + 12))
    else
      call('HSET', lock, sub(will, 6), ARGV[6])
    end
    call('PEXPIREAT', lock, till)
  end
  if own ~= '' and (raise or fence_ttl > 0) then
    local most = format('%.0f', math.max(top, raise or 0))
    if fence_ttl > 0 and not (raise and call('PTTL', counter) == -1) then -- one without an end is Java's
      call('SET', counter, most, 'PXAT', last + fence_ttl)
    elseif raise < top then
      call('SET', counter, most, 'KEEPTTL')
    end
  end

  local json, left = ARGV[3], 0
  if base ~= 0 then
    base = format('%.0f', base)
    json = '{"v":1,"base":' .. base .. sub(json, 16)
  end
  local shown = (will == '' or will == '!') and ' 000' or ' ' .. will
  local all = ARGV[2] .. ' ' .. cap .. ' ' .. till .. shown .. line .. '\n' .. json
  if short then
    call('SET', record, all, 'PX', '60000')
  elseif will == '!' then
    left = math.min(call('PTTL', lock), 9e12)
    call('SET', record, all, 'PXAT', math.max(last, ms + left) + 1.5 * minute)
  elseif ARGV[9] ~= '' then
    call('SET', record, all, 'PX', ARGV[9])
  else
    call('SET', record, all, 'PXAT', last + minute)
  end
  local some = #ARGV - (several and after - 11 or 0)
  local tells = some > after + ended
  if not tells and (short or base == 0 and will ~= '!' and ARGV[9] ~= '') then -- the rest is known to who asked
    return clock and clock[1] * 1000000 + clock[2] or 1
  end
  local answer = { 1, line, clock and clock[1] or 0, clock and clock[2] or 0, base, left }
  if tells then
    clock = clock or call('TIME')
    local tail = #all > 2048 and '' or ' ' .. clock[1] .. ' ' .. clock[2] .. ' ' .. all
    for i = after + ended + 1, some, 2 do
      answer[#answer + 1] = call('PUBLISH', ARGV[i], ARGV[i + 1] .. tail)
    end
  end
  return answer
until true
