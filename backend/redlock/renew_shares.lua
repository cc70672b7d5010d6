-- renew.lua for names that several hold at once.
-- KEYS lock, shares, ends, last and floor of each hold, in turn
-- ARGV contender, fence and ttl ms of each hold, in turn
local clock = redis.call('TIME')
local ms = math.floor(clock[1] * 1000 + clock[2] / 1000)

local results = {}
for i = 1, #KEYS / 5 do
  local lock, shares, ends, last, floor = unpack(KEYS, 5 * i - 4, 5 * i)
  local contender, fence, ttl = ARGV[3 * i - 2], ARGV[3 * i - 1], tonumber(ARGV[3 * i])
  local text = redis.call('HGET', shares, contender) or ''
  local f, owner = string.match(text, '^%d+ %d+ (%d+) %d+ %d+ %d+ %d+ %d+ %S+ (%S+)')
  local till = tonumber(redis.call('ZSCORE', ends, contender) or '0')
  results[i] = 0
  if f == fence and till > ms and redis.pcall('HEXISTS', lock, owner .. ':' .. f) == 1 then
    results[i] = 1
    if till < ms + ttl then -- a late renewal cannot undo a later one
      redis.call('ZADD', ends, string.format('%.0f', ms + ttl), contender)
      for _, key in ipairs({ lock, shares, ends }) do
        if redis.call('PTTL', key) < ttl then
          redis.call('PEXPIRE', key, ttl)
        end
      end
    end
  else
    local over = tonumber(string.match(redis.call('GET', last) or '', ' (%d+)$') or '0')
    local share_over = tonumber(string.match(redis.call('GET', floor) or '', '^%d+ %d+ (%d+)$') or '0')
    if tonumber(fence) > math.max(over, share_over) then
      results[i] = 2
    end
  end
end
return results
