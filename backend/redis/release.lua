-- KEYS, ARGV: see common.lua
if not admit(true) then
  return { 'stale' }
end
local h = hold()
if mine(h) and h.fence == the_hold then
  put(last, int(math.max(h.fence, tonumber(ARGV[18]))) .. ' ' .. (redis.call('GET', counter) or '0'), fence_ttl)
  free(tonumber(ARGV[19]))
end
if wants_queue then
  return contend()
end
withdraw(tonumber(ARGV[10]))
return pass_on()
