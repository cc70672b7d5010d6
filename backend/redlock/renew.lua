-- KEYS lock, state and last of each hold, in turn
-- ARGV contender, fence and ttl ms of each hold, in turn
-- Answers for each: 1 renewed, 0 over, 2 missing and perhaps to be set again.
local results = {}
for i = 1, #KEYS / 3 do
  local lock, state, last = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]
  local contender, fence, ttl = ARGV[3 * i - 2], ARGV[3 * i - 1], tonumber(ARGV[3 * i])
  local h = redis.call('HMGET', state, 'by', 'fence', 'owner')
  results[i] = 0
  if h[1] == contender and h[2] == fence and redis.pcall('HEXISTS', lock, h[3]) == 1 then
    results[i] = 1
    if redis.call('PTTL', lock) < ttl then -- a late renewal cannot undo a later one
      redis.call('PEXPIRE', lock, ttl)
      redis.call('PEXPIRE', state, ttl)
    end
  elseif redis.call('EXISTS', lock) == 0 then
    local over = string.match(redis.call('GET', last) or '', ' (%d+)$')
    if tonumber(fence) > tonumber(over or '0') then
      results[i] = 2
    end
  end
end
return results
