-- KEYS lock and state of each hold, in turn: there are both while it is held, so that
-- the script runs also where a cluster is moving them.
-- ARGV contender, fence and ttl ms of each hold, in turn
local results = {}
for i = 1, #KEYS / 2 do
  local lock, state = KEYS[2 * i - 1], KEYS[2 * i]
  local contender, fence, ttl = ARGV[3 * i - 2], ARGV[3 * i - 1], tonumber(ARGV[3 * i])
  local h = redis.call('HMGET', state, 'by', 'fence', 'owner')
  results[i] = 0
  if h[1] == contender and h[2] == fence and redis.pcall('HEXISTS', lock, h[3]) == 1 then
    results[i] = 1
    if redis.call('PTTL', lock) < ttl then -- a late renewal cannot undo a later one
      redis.call('PEXPIRE', lock, ttl)
      redis.call('PEXPIRE', state, ttl)
    end
  end
end
return results
