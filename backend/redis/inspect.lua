-- KEYS 1 lock  2 state  3 queue  4 entries  5 counter  6 last
local lock, state, queue, entries, counter, last = unpack(KEYS)
local h = redis.call('HMGET', state, 'by', 'fence', 'turn', 'owner', 'record')
local left, waiters = redis.call('PTTL', lock), 0
for _, text in ipairs(redis.call('HVALS', entries)) do
  local n = string.match(text, '^%d+ %d+ %d+ %d+ %d+ %d+ (%d+) ')
  waiters = waiters + math.max(tonumber(n or '0'), n and 1 or 0)
end
local top = redis.call('GET', counter) or '0'
if left == -2 then
  -- What was reserved and not given, when the last hold ended, does not count.
  local given, reserved = string.match(redis.call('GET', last) or '', '^(%d+) (%d+)$')
  if reserved == top then
    top = given
  end
  return { 0, 0, '', 0, '', '0', '0', top, 0, waiters, '' }
end
if h[1] and redis.pcall('HEXISTS', lock, h[4]) == 1 then
  return { 1, 0, h[4], tonumber(redis.call('HGET', lock, h[4])), string.match(h[1], '^[^.]+'), h[2], h[3], top, left, waiters, h[5] }
end
local field, count = '', 1
if redis.call('TYPE', lock).ok == 'hash' then
  field = redis.call('HKEYS', lock)[1]
  count = tonumber(redis.call('HGET', lock, field)) or 1
end
return { 1, 1, field, count, '', '0', '0', top, left, waiters, '' }
