-- KEYS lock, state, shares and ends of each hold, in turn
-- ARGV contender, fence and ttl ms of each hold, in turn
local clock = redis.call('TIME')
local ms = math.floor(clock[1] * 1000 + clock[2] / 1000)

-- A late renewal cannot undo a later one.
local function only(lock, state, ttl)
  if redis.call('PTTL', lock) < ttl then
    redis.call('PEXPIRE', lock, ttl)
    redis.call('PEXPIRE', state, ttl)
  end
end

local function one_of_several(lock, shares, ends, contender, ttl)
  local till = ms + ttl
  if tonumber(redis.call('ZSCORE', ends, contender)) < till then
    redis.call('ZADD', ends, string.format('%.0f', till), contender)
    for _, key in ipairs({ lock, shares, ends }) do
      if redis.call('PTTL', key) < ttl then
        redis.call('PEXPIRE', key, ttl)
      end
    end
  end
end

local results = {}
for i = 1, #KEYS / 4 do
  local lock, state, shares, ends = unpack(KEYS, 4 * i - 3, 4 * i)
  local contender, fence, ttl = ARGV[3 * i - 2], ARGV[3 * i - 1], tonumber(ARGV[3 * i])
  local h = redis.call('HMGET', state, 'by', 'fence', 'owner')
  results[i] = 0
  if h[1] == contender and h[2] == fence and redis.pcall('HEXISTS', lock, h[3]) == 1 then
    results[i] = 1
    only(lock, state, ttl)
  elseif not h[1] or h[1] ~= contender then
    local text = redis.call('HGET', shares, contender) or ''
    local f, owner = string.match(text, '^%d+ %d+ (%d+) %d+ %d+ %d+ [01] %d+ (%S+)')
    local till = tonumber(redis.call('ZSCORE', ends, contender) or '0')
    if f == fence and till > ms and redis.pcall('HEXISTS', lock, owner .. ':' .. f) == 1 then
      results[i] = 1
      one_of_several(lock, shares, ends, contender, ttl)
    end
  end
end
return results
