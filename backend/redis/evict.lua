-- What swap.lua asks where it ends the hold of a program outside lockgw: whether the lock is
-- the one that was seen. The last two of ARGV say which: what tells it from another, and how
-- many ms it had left, below 0: no end. A program that has renewed it since still holds it.
local had = tonumber(table.remove(ARGV))
local seen_then = table.remove(ARGV)
evict = function()
  local left = math.min(call('PTTL', lock), 9e12)
  return stranger(lock) == seen_then and left <= had and (left < 0) == (had < 0)
end
