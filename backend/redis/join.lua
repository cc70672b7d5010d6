-- ARGV 1 the next version   2 the entry   3 its node   4 how many permits there are in its mode, 0: a lock
--      5 floor   6 the record, if there is none   7 channels of nodes begin with it
--      8 text of the messages
local next_version, entry, node, size = unpack(ARGV, 1, 4)
if h == '' then
  local base, cap = reserve(0, true, tonumber(ARGV[5]))
  h = next_version .. ' ' .. string.format('%016.0f', cap) .. ' 0000000000000\n' .. based(ARGV[6], base)
  call('SET', record, h, 'PX', minute)
  return there()
end
local all = text()
local lines = string.sub(all, cut + 1)
local json = string.match(lines, '^[^\n]*')
local r = cjson.decode(json)
local waits, others, empty = nil, false, not r.holds and not r.queue
for _, hold in ipairs(r.holds or {}) do
  others = others or hold.node ~= node and hold.node ~= ''
end
local function see(e)
  if e.node ~= node then
    others = true
  elseif not waits or not e.suspect then
    waits = e.suspect and 'suspect' or 'yes'
  end
end
for _, e in ipairs(r.queue or {}) do
  see(e)
end
local of = r.size or 0
for more in string.gmatch(string.sub(lines, #json + 1), '[^\n]+') do
  local e = cjson.decode(more)
  if empty then
    of, empty = math.max(e.mode or 0, 0), false
  end
  see(e)
end
if waits == 'yes' or others and of ~= tonumber(size) then
  return there()
end
call('APPEND', record, '\n' .. entry)
call('SETRANGE', record, 0, next_version)
if tonumber(string.sub(h, 41, 53)) < clock() + minute / 2 then
  call('PEXPIRE', record, minute, 'GT')
end
all = next_version .. string.sub(all, 23) .. '\n' .. entry
h = #all < 256 and all or next_version .. string.sub(h, 23)
for _, hold in ipairs(r.holds or {}) do
  if not hold.offered and hold.node ~= node and hold.node ~= '' then
    tell(ARGV[7] .. hold.node, ARGV[8], all)
  end
end
return there()
