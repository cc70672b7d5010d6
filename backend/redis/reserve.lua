-- reserve returns what the fences of a new record count from, and up to which fence a
-- record with this top may grow without asking again.
--
-- Fences follow the clock. One that was set back must not repeat those of names that are
-- forgotten, nor may those that were ahead of it, above a floor or by the clock of another
-- server. So the mark has a fence that no record of the slot is above, and the time from which
-- on the clock tells more: when it was last set, for a name is remembered for a minute, and
-- the clock is past its fences by then; or that fence, if it was further ahead. Until then
-- fences count from it.
local function reserve(top, fresh, least)
  clock = clock or call('TIME')
  local us = clock[1] * 1000000 + clock[2]
  local mark = redis.pcall('GET', KEYS[4]) or '0 0'
  local c, u = string.match(type(mark) == 'string' and mark or '', '^(%d+) (%d+)$')
  if not c then
    -- whoever may not read it knows nothing of what is there
    error(type(mark) == 'table' and not find(mark.err, 'WRONGTYPE', 1, true) and mark or redis.error_reply('NOMARK'))
  end
  c, u = tonumber(c), tonumber(u)
  local behind, base = us < c, 0
  local some = behind and 1024 or 16777216
  if fresh then
    base = math.max(us, least, behind and u or 0)
  end
  local cap = base + top + some
  if behind or cap > u then
    u = math.max(u, behind and cap or cap + some)
    c = (behind or u > us + 60000000) and math.max(c, u) or us
    call('SET', KEYS[4], format('%.0f %.0f', c, u), 'PX', format('%.0f', 259200000 + math.max(u - us, 0) / 1000))
  end
  return base, format('%016.0f', cap)
end
