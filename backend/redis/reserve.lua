-- reserve returns what the fences of a new record count from, and up to which fence a
-- record with this top may grow without asking again.
--
-- Fences follow the clock. One that was set back must not repeat those of names that are
-- forgotten. So the mark has the clock when it was last set, and a fence that no record of
-- the slot is above. Once the clock is behind the one, fences count from the other.
local function reserve(top, fresh, least)
  clock = clock or call('TIME')
  local us = clock[1] * 1000000 + clock[2]
  local c, u = string.match(call('GET', KEYS[4]) or '0 0', '^(%d+) (%d+)$')
  c, u = tonumber(c), tonumber(u)
  local behind, base, some = us < c, 0, 16777216
  if fresh then
    base = math.max(us, least, behind and u or 0)
  end
  local cap = base + top + (behind and 1024 or some)
  if behind then
    call('SET', KEYS[4], format('%.0f %.0f', math.max(c, u, cap), math.max(u, cap)), 'PX', '259200000')
  elseif cap > u then
    call('SET', KEYS[4], format('%.0f %.0f', us, cap + some), 'PX', '259200000')
  end
  return base, format('%016.0f', cap)
end
