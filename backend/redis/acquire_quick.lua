-- An acquire that nobody stands in the way of: contend would do the same, but
-- common.lua need not be read for it.
if not admit(true) then
  return { 'stale' }
end
if mode == '0' and redis.call('EXISTS', lock, queue, entries, seen[3] and lock or counter) == 0 and not spent(turns) and known() then
  local f = make(me, asked(), ttl, '0')
  return { 'granted', f, f, turns, 0 }
end
