-- ARGV 1 the next version   2 the entry, which begins with {"node":"NODE",   3 its node
--      4 how many permits there are in its mode, 0: a lock   5 floor   6 the record, if there is none
--      7 channels of nodes begin with it   8 text of the messages
--
-- What is in a string of JSON has its quotes escaped, so that plain ones are of JSON itself.
local next_version, entry, node, size = unpack(ARGV, 1, 4)
if h == '' then
  local base, cap = reserve(0, true, tonumber(ARGV[5]))
  h = next_version .. ' ' .. string.format('%016.0f', cap) .. ' 0000000000000\n' .. based(ARGV[6], base)
  call('SET', record, h, 'PX', minute)
  return there()
end
local all = text()
local last = string.find(all, '\n', cut + 1, true) or #all + 1 -- where JSON ends
local queue = string.find(all, '"queue":[', cut, true)
if queue and queue > last then
  queue = nil
end

-- It waits already, unless it is suspect.
local me = '{"node":"' .. node .. '",'
local function waits(from, to)
  local p = string.find(all, me, from, true)
  return p and p < to and not string.find(string.match(all, '^[^}]*', p), '"suspect":true', 1, true)
end
if waits(last, #all) or queue and waits(queue, last) then
  return there()
end

-- Others have the name as another kind.
local holders, others = {}, queue and true or last < #all
for n, more in string.gmatch(string.sub(all, cut + 1, queue or last), '{"node":"([^"]*)"([^{}]*)') do
  if n ~= node and n ~= '' then
    others = true
    if not string.find(more, '"offered":true', 1, true) then
      holders[#holders + 1] = n
    end
  end
end
if others then
  local of = string.match(all, '^{"v":%d+,"base":%d+,"size":(%d+)', cut + 1)
  if not of and last < #all and not queue and not string.find(all, '"holds":[', cut, true) then
    of = string.match(all, '^{"node":"[^"]*","mode":(%d+)', last + 1) -- the first that has joined says so
  end
  if (of or '0') ~= size then
    return there()
  end
end

call('APPEND', record, '\n' .. entry)
call('SETRANGE', record, 0, next_version)
if tonumber(string.sub(h, 41, 53)) < clock() + minute / 2 then
  call('PEXPIRE', record, minute, 'GT')
end
h = next_version .. string.sub(h, 23) .. (#h < 256 and '\n' .. entry or '')
for _, n in ipairs(holders) do
  tell(ARGV[7] .. n, ARGV[8], #all < 256 and h or #all < 2048 and call('GET', record) or all)
end
return there()
