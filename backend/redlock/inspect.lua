-- KEYS 1 lock  2 state  3 waits  4 counter  5 last  6 shares  7 ends
-- Answers: held, foreign, owner, count, node, hold, turn, top, ttl ms, waiters, record,
-- number of the last description, counter, mode, and where several have the name at once
-- for each: contender, fence, turn, description, ttl ms, owner, count and record.
local lock, state, waits, counter, last, shares, ends = unpack(KEYS)
local clock = redis.call('TIME')
local ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
local h = redis.call('HMGET', state, 'by', 'fence', 'turn', 'owner', 'record', 'described')
local left, waiters = redis.call('PTTL', lock), 0
for _, text in ipairs(redis.call('HVALS', waits)) do
  local till, n = string.match(text, '^(%d+) %d+ (%d+) ')
  if tonumber(till) > ms then
    waiters = waiters + math.max(tonumber(n), 1)
  end
end
local newest = redis.call('GET', counter) or '0'
local top = newest
if left == -2 then
  -- What was reserved and not given, when the last hold ended, does not count.
  local given, at = string.match(redis.call('GET', last) or '', '^(%d+) (%d+) %d+$')
  if at == newest then
    top = given
  end
  return { 0, 0, '', 0, '', '0', '0', top, 0, waiters, '', '0', newest, 0 }
end
if h[1] and redis.pcall('HEXISTS', lock, h[4]) == 1 then
  local count = tonumber(redis.call('HGET', lock, h[4]))
  return { 1, 0, h[4], count, string.match(h[1], '^[^.]+'), h[2], h[3], top, left, waiters, h[5], h[6], newest, 0 }
end
local m = redis.pcall('HGET', lock, 'mode')
m = type(m) == 'string' and string.match(m, '^lockgw (%-?%d+)$')
if m then
  local answer = { 1, 0, '', 0, '', '0', '0', top, left, waiters, '', '0', newest, tonumber(m) }
  local list = redis.call('ZRANGEBYSCORE', ends, string.format('(%.0f', ms), '+inf', 'WITHSCORES')
  for i = 1, #list, 2 do
    local fence, turn, described, owner, record = string.match(
      redis.call('HGET', shares, list[i]) or '', '^%d+ %d+ (%d+) %d+ %d+ (%d+) (%d+) %d+ %S+ (%S+) (.*)$')
    local count = fence and redis.call('HGET', lock, owner .. ':' .. fence)
    if count then
      for _, v in ipairs({ list[i], fence, turn, described, list[i + 1] - ms, owner, count, record }) do
        answer[#answer + 1] = v
      end
    end
  end
  return answer
end
local field, count = '', 1
if redis.call('TYPE', lock).ok == 'hash' then
  field = redis.call('HKEYS', lock)[1]
  count = tonumber(redis.call('HGET', lock, field)) or 1
elseif redis.call('TYPE', lock).ok == 'string' then
  field = redis.call('GET', lock)
end
return { 1, 1, field, count, '', '0', '0', top, left, waiters, '', '0', newest, 0, stranger(lock) or '' }
