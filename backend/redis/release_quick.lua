-- A release that nobody waits for: release.lua would do the same, but common.lua need
-- not be read for it.
if not admit(true) then
  return { 'stale' }
end

-- given notes the last fence that the hold gave. Whoever gives it back for the first
-- time has held the name until now, so that nobody else has been granted it.
local function given()
  local proof = string.sub(guard, 1, 1) == '!' and ' ' .. server() or ''
  put(last, int(math.max(the_hold, turn)) .. ' ' .. int(reserved) .. proof)
end

if not wants_queue and redis.call('EXISTS', queue, entries) == 0 then
  local h = redis.call('HMGET', state, 'by', 'fence', 'owner')
  if h[1] == me and h[2] == the_hold and redis.pcall('HEXISTS', lock, h[3]) == 1 then
    given()
    free(delay)
    return { 'done', 0 }
  end
end
