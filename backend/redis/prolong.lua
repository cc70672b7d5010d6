-- KEYS record and lock of each   ARGV id and ms of each
local call = redis.call
local t = call('TIME')
local now, answers = math.floor(t[1] * 1000 + t[2] / 1000), {}
local minute = 60000
for i = 1, #KEYS, 2 do
  local record, lock, id, e = KEYS[i], KEYS[i + 1], ARGV[i], now + ARGV[i + 1]
  local h = redis.pcall('GETRANGE', record, 0, 255)
  if type(h) == 'string' and #h == 256 and not string.find(h, '\n', 54, true) then
    h = call('GET', record)
  end
  local cut = type(h) == 'string' and string.find(h, '\n', 54, true)
  local n = cut and string.sub(h, 55, 57)
  local p, q = nil, nil
  if n and n ~= '000' then
    p, q = string.find(string.sub(h, 1, cut), ' ' .. id .. '=', 58 + n, true)
  end
  answers[(i + 1) / 2] = 0
  if p and redis.pcall('HEXISTS', lock, string.sub(h, 60, 58 + n)) == 1 then
    local text = string.format('%.0f', e)
    if tonumber(string.sub(h, q + 1, q + 13)) < e then
      call('SETRANGE', record, q, text)
      call('PEXPIREAT', lock, text, 'GT')
    end
    if tonumber(string.sub(h, 41, 53)) < e - minute / 2 then
      call('SETRANGE', record, 40, text)
      call('PEXPIREAT', record, string.format('%.0f', e + minute), 'GT')
    end
    answers[(i + 1) / 2] = 1
  end
end
return answers
