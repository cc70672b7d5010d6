-- KEYS 1 lock  2 state  3 queue  4 entries  5 counter  6 last  7 shares  8 ends
local lock, state, queue, entries, counter, last, shares, ends = unpack(KEYS)
local h = redis.call('HMGET', state, 'by', 'fence', 'turn', 'owner', 'record')
local left, waiters = redis.call('PTTL', lock), 0
for _, text in ipairs(redis.call('HVALS', entries)) do
  local n = string.match(text, '^%d+ %d+ %d+ %d+ %d+ %d+ (%d+) ')
  waiters = waiters + math.max(tonumber(n or '0'), n and 1 or 0)
end
local top = redis.call('GET', counter) or '0'

local function told(foreign, owner, count, node, fence, turn, record, mode, holders)
  return { 1, foreign, owner, count, node, fence, turn, top, left, waiters, record or '', mode or 0, holders or 1 }
end

-- one_of_several is what to tell of the newest of those who hold the name at once.
local function one_of_several(mode)
  local clock = redis.call('TIME')
  local now = string.format('%.0f', math.floor(clock[1] * 1000 + clock[2] / 1000))
  local best, n = nil, 0
  for _, c in ipairs(redis.call('ZRANGEBYSCORE', ends, '(' .. now, '+inf')) do
    local text = redis.call('HGET', shares, c) or ''
    local fence, turn, owner, record = string.match(text, '^%d+ %d+ (%d+) %d+ %d+ (%d+) [01] %d+ (%S+) (.*)$')
    n = n + (fence and 1 or 0)
    if fence and (not best or tonumber(fence) > tonumber(best.fence)) then
      best = { by = c, fence = fence, turn = turn, owner = owner, record = record }
    end
  end
  if not best then
    return nil
  end
  left = math.max(tonumber(redis.call('ZSCORE', ends, best.by)) - now, 1)
  local count = tonumber(redis.call('HGET', lock, best.owner .. ':' .. best.fence) or '1')
  return told(0, best.owner, count, string.match(best.by, '^[^.]+'), best.fence, best.turn, best.record, tonumber(mode), n)
end

-- What was reserved and not given, when the last hold of lockgw ended, does not count.
local function only_given()
  local given, then_reserved = string.match(redis.call('GET', last) or '', '^(%d+) (%d+)')
  if then_reserved == top then
    top = given
  end
end

if left ~= -2 then
  if h[1] and redis.pcall('HEXISTS', lock, h[4]) == 1 then
    return told(0, h[4], tonumber(redis.call('HGET', lock, h[4])), string.match(h[1], '^[^.]+'), h[2], h[3], h[5])
  end
  local m = redis.pcall('HGET', lock, 'mode')
  m = type(m) == 'string' and string.match(m, '^lockgw (%-?%d+)$')
  local answer = m and one_of_several(m)
  if answer then
    return answer
  end
  if not m then
    only_given()
    local field, count = '', 1
    if redis.call('TYPE', lock).ok == 'hash' then
      field = redis.call('HKEYS', lock)[1]
      count = tonumber(redis.call('HGET', lock, field)) or 1
    end
    return told(1, field, count, '', '0', '0')
  end
end
only_given()
return { 0, 0, '', 0, '', '0', '0', top, 0, waiters, '', 0, 0 }
