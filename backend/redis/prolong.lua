-- fence_ttl, which stands before this, is of the configuration; see swap.lua.
--
-- KEYS record and lock of each, then, if they are to last as well, Redisson's counter of each
-- ARGV id and ms of each
--
-- A node renews whatever it holds by this, so it counts for more than all else at rest: what is
-- the same for most is made once, and constants are strings; see record.lua.
local call, pcall, find, sub, format = redis.call, redis.pcall, string.find, string.sub, string.format
local t = call('TIME')
local now, answers, minute, args = math.floor(t[1] * 1000 + t[2] / 1000), {}, 60000, #ARGV
local ms, e, text -- of the last one: its lease, when that ends, and this as it is written
local at, place -- where that stood, and this as it is written
for i = 1, args, 2 do
  local record, lock, counter = KEYS[i], KEYS[i + 1], KEYS[args + (i + 1) / 2]
  if ARGV[i + 1] ~= ms then
    ms = ARGV[i + 1]
    e = now + ms
    text = format('%.0f', e)
  end
  local h = pcall('GETRANGE', record, '0', '191')
  if type(h) == 'string' and #h == 192 and not find(h, '\n', 54, true) then
    h = call('GET', record)
  end
  local cut = type(h) == 'string' and find(h, '\n', 54, true)
  local n = cut and sub(h, 55, 57)
  local p, q = nil, nil
  if n and n ~= '000' then
    p, q = find(h, ' ' .. ARGV[i] .. '=', 58 + n, true)
  end
  answers[(i + 1) / 2] = 0
  local has = h
  if p and p < cut then
    has = pcall('HEXISTS', lock, sub(h, 60, 58 + n))
  end
  if has == 1 then
    if sub(h, q + 1, q + 13) + 0 < e then
      if q ~= at then
        at, place = q, format('%d', q)
      end
      call('SETRANGE', record, place, text)
      -- GT takes a key without an expiry, which somebody has taken away, for one that lasts longer. The
      -- time in the first line is at most half a minute before the end of another hold.
      if call('PEXPIREAT', lock, text, 'GT') == 0 then
        call('PEXPIREAT', lock, format('%.0f', math.max(e, sub(h, 41, 53) + minute / 2)), 'NX')
      end
    end
    if sub(h, 41, 53) + 0 < e - minute / 2 then
      call('SETRANGE', record, '40', text)
      local after = format('%.0f', e + minute)
      if call('PEXPIREAT', record, after, 'GT') == 0 then
        call('PEXPIREAT', record, after, 'NX')
      end
    end
    if counter then
      call('PEXPIREAT', counter, format('%.0f', e + fence_ttl), 'GT')
    end
    answers[(i + 1) / 2] = 1
  elseif type(has) == 'table' and not find(has.err, 'WRONGTYPE', 1, true) then
    return has -- whoever may not ask knows of no loss
  end
end
return answers
