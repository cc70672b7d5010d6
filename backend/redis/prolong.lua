-- KEYS record and lock of each   ARGV id and ms of each
local call = redis.call
local t = call('TIME')
local now, answers = math.floor(t[1] * 1000 + t[2] / 1000), {}
local minute = 60000
for i = 1, #KEYS, 2 do
  local record, lock, id, e = KEYS[i], KEYS[i + 1], ARGV[i], now + ARGV[i + 1]
  local h = redis.pcall('GETRANGE', record, 0, 255)
  if type(h) == 'string' and #h == 256 and not string.find(h, '\n', 1, true) then
    h = call('GET', record)
  end
  local p = type(h) == 'string' and string.find(h, ' ' .. id .. '=', 54, true)
  local cut = p and string.find(h, '\n', 1, true)
  local at = cut and p < cut and string.find(h, ' [@~]', p)
  answers[(i + 1) / 2] = 0
  if at and at < cut and redis.pcall('HEXISTS', lock, string.sub(h, at + 2, cut - 1)) == 1 then
    p = p + #id + 2
    local text = string.format('%013.0f', e)
    if tonumber(string.sub(h, p, p + 12)) < e then
      call('SETRANGE', record, p - 1, text)
      call('PEXPIREAT', lock, text, 'GT')
    end
    if tonumber(string.sub(h, 41, 53)) < e + minute / 2 then
      text = string.format('%013.0f', e + minute)
      call('SETRANGE', record, 40, text)
      call('PEXPIREAT', record, text, 'GT')
    end
    answers[(i + 1) / 2] = 1
  end
end
return answers
