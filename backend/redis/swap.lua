-- ARGV  1 version that there has to be, "" for none   2 the next version   3 the record
--       4 the lock that there will be: "" none, "@field", "~" several fields, "!" that of somebody else
--       5 the number in the field, or what to write into mode   6 newest fence
--       7 floor, if fences count from a base; else ""   8 newest fence of the sender's own
--       hold, if it has one; else ""   9 ms to keep Redisson's counter, 0: not to make it
--      10 how Redisson is told that the name is free   11 on which channel
--      12 how many holds   13 ended ones   14 messages; then these:
--         id, "=" or "?", ms of the lease or ""; id; channel, text; and fields, numbers
if string.sub(h, 1, 22) ~= ARGV[1] then
  return there()
end
local will, holds, ended, messages = ARGV[4], tonumber(ARGV[12]), tonumber(ARGV[13]), tonumber(ARGV[14])
local kind = at and string.sub(h, at + 1, at + 1)

-- What is not over is not ended, unless the lock is gone.
local early = false
for i = 15 + 3 * holds, 14 + 3 * holds + ended do
  local p = place(ARGV[i])
  early = early or p and ends(p) > clock()
end
if early and (was == nil or ours()) then
  return there()
end

-- A fence of ours is above those that Redisson has given.
local raise, free = '', false -- free: the lock is known not to be there
if ARGV[8] ~= '' then
  local look = true
  if was == nil then
    free = call('EXISTS', lock, counter) == 0
    look = not free
  end
  if look then
    raise = redis.pcall('GET', counter)
    raise = type(raise) == 'string' and raise or ''
    if ARGV[7] == '' and raise ~= '' and tonumber(raise) >= tonumber(ARGV[8]) then
      local top = string.match(text(), '"top":(%d+)')
      local base = string.match(text(), '"base":(%d+)')
      if top and tonumber(ARGV[8]) > top + base then
        return there()
      end
    end
  end
end

-- The lock is as the record has it. To remove its field is the check at once.
local mine = false
if was then
  if kind == '@' and will ~= '!' and will ~= '@' .. was then
    mine = redis.pcall('HDEL', lock, was) == 1
  else
    mine = ours()
  end
end
if mine and will == '!' then
  return there()
elseif not mine then
  if not free then
    local others = call('EXISTS', lock) == 1
    if others ~= (will == '!') then
      return there()
    end
  end
  if was and will ~= '!' then -- it has run out, or was deleted; then who kept a hold has not seen that
    for i = 15, 14 + 3 * holds, 3 do
      local p = place(ARGV[i])
      if p and ends(p) > clock() then
        return there()
      end
    end
  end
end

-- Nothing was changed so far but a field that goes in any case.
local base, cap = 0, string.sub(h, 24, 39)
local top = tonumber(ARGV[6])
if h == '' or top > tonumber(cap) then
  base, cap = reserve(top, ARGV[7] ~= '', math.max(tonumber(ARGV[7]) or 0, tonumber(raise) or 0))
  top = top + base
  cap = string.format('%016.0f', cap)
end
local line, last = {}, 0
for i = 15, 14 + 3 * holds, 3 do
  local id, e = ARGV[i], nil
  if ARGV[i + 2] ~= '' then
    e = clock() + ARGV[i + 2]
  else
    local p = place(id)
    e = p and ends(p) or clock()
  end
  if base ~= 0 then
    id = int(base + id)
  end
  last = math.max(last, e)
  line[#line + 1] = ' ' .. id .. ARGV[i + 1] .. string.format('%013.0f', e)
end
line = table.concat(line)

if mine and (kind == '~' or will == '~') then
  call('DEL', lock)
end
local f = 15 + 3 * holds + ended + 2 * messages
if will == '~' then
  call('HSET', lock, 'mode', ARGV[5], unpack(ARGV, f))
  line = line .. ' ~' .. ARGV[f]
elseif will ~= '' and will ~= '!' then
  call('HSET', lock, string.sub(will, 2), ARGV[5])
  line = line .. ' ' .. will
elseif mine then
  if ARGV[10] ~= 'SPUBLISH' then
    call('PUBLISH', ARGV[11], '0')
  end
  if ARGV[10] ~= 'PUBLISH' then
    call('SPUBLISH', ARGV[11], '0')
  end
end
if will ~= '' and will ~= '!' then
  call('PEXPIREAT', lock, int(last))
end
if ARGV[8] ~= '' and (raise ~= '' or ARGV[9] ~= '0') then
  local most = int(math.max(top, tonumber(raise) or 0))
  if ARGV[9] ~= '0' then
    call('SET', counter, most, 'PX', ARGV[9])
  elseif tonumber(raise) < top then
    call('SET', counter, most, 'KEEPTTL')
  end
end

local json = based(ARGV[3], base)
local till = last == 0 and '0000000000000' or string.format('%013.0f', last + minute)
local all = ARGV[2] .. ' ' .. cap .. ' ' .. till .. line .. '\n' .. json
local left = 0
if last == 0 then
  left = will == '!' and call('PTTL', lock) or 0
  call('SET', record, all, 'PX', math.max(left, 0) + (will == '!' and 1.5 * minute or minute))
else
  call('SET', record, all, 'PXAT', till)
end
local heard = {}
for i = 1, messages do
  local m = 13 + 3 * holds + ended + 2 * i
  heard[i] = tell(ARGV[m], ARGV[m + 1], all)
end
return { 1, line, int(us or 0), int(base), left, unpack(heard) }
