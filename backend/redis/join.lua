-- ARGV 1 the next version   2 the entry, which begins with {"node":"NODE",   3 its node
--      4 how many permits there are in its mode, 0: a lock   5 floor   6 the record, if there is none
--      7 channels of nodes begin with it   8 text of the messages
--
-- What is in a string of JSON has its quotes escaped, so that plain ones are of JSON itself.
-- When nothing is left to do, there.lua answers.
local next_version, entry, node, size = unpack(ARGV, 1, 4)
-- A version ends with the seal of what stands behind the first line.
local function seal(text)
  return sub(next_version, 1, 8) .. sub(redis.sha1hex(text), 1, 14)
end
repeat
  if h == '' then
    if call('EXISTS', lock) == 0 then -- nobody has the name
      break
    end
    --RESERVE--
    local base, cap = reserve(0, true, tonumber(ARGV[5]))
    local text = '{"v":1,"base":' .. format('%.0f', base) .. sub(ARGV[6], 16)
    h = seal(text) .. ' ' .. cap .. ' 0000000000000 000\n' .. text
    call('SET', record, h, 'PX', minute)
    break
  end
  local all = h
  local last = find(all, '\n', cut + 1, true) or #all + 1 -- where JSON ends
  local queue = find(all, '"queue":[', cut, true)
  if queue and queue > last then
    queue = nil
  end

  local holds = find(all, '"holds":[', cut, true)
  if not holds and call('EXISTS', lock) == 0 then -- nobody has the name
    break
  end

  local me = '{"node":"' .. node .. '",'
  local function waits(from, to)
    local p = find(all, me, from, true)
    return p and p < to
  end
  if waits(last, #all) or queue and waits(queue, last) then
    break
  end

  -- Others have the name as another kind.
  local holders, others = {}, queue and true or last < #all
  for n, more in string.gmatch(sub(all, cut + 1, queue or last), '{"node":"([^"]*)"([^{}]*)') do
    if n ~= node and n ~= '' then
      others = true
      if not find(more, '"offered":true', 1, true) then
        holders[#holders + 1] = n
      end
    end
  end
  if others then
    local of = string.match(all, '^{"v":%d+,"base":%d+,"size":(%d+)', cut + 1)
    if last < #all then
      of = string.match(all, '^{"node":"[^"]*","mode":(%d+)', last + 1) -- the first that has joined says so
    end
    if (of or '0') ~= size then
      break
    end
  end

  clock = call('TIME')
  h = h .. '\n' .. entry
  next_version = seal(sub(h, cut + 1))
  h = next_version .. sub(h, 23)
  if #h < 2048 then
    call('SET', record, h, 'KEEPTTL')
  else
    call('APPEND', record, '\n' .. entry)
    call('SETRANGE', record, 0, next_version)
  end
  if tonumber(sub(h, 41, 53)) < clock[1] * 1000 - minute / 2 then
    call('PEXPIRE', record, minute, 'GT')
  end
  local tail = #h > 2048 and '' or ' ' .. clock[1] .. ' ' .. clock[2] .. ' ' .. h
  for _, n in ipairs(holders) do
    call('PUBLISH', ARGV[7] .. n, ARGV[8] .. tail)
  end
until true
