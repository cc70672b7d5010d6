-- What every script about the record of one name begins with.
--
-- KEYS 1 record   2 lock, what programs outside lockgw see   3 Redisson's fence counter
--      4 mark of the slot: "clock top", see reserve
--
-- A record is a line of text, then JSON, then a line of JSON for each node that has
-- joined the queue since. The line has the version, the fence up to which the mark need
-- not be looked at, when the record ends, "id=end" for each hold ("id?end": an offer),
-- and the lock that there has to be: "@" and its field, "~" and one of several fields, or
-- nothing. Times are in ms. All but the last has a fixed place or a fixed width.
local record, lock, counter, mark = unpack(KEYS)
local call = redis.call
local minute = 60000

-- int prints a fence. Numbers are doubles here: printed otherwise, it would lose its end.
local function int(n) return string.format('%.0f', n) end

local h = call('GETRANGE', record, 0, 255)
local cut = string.find(h, '\n', 1, true)
if not cut and h ~= '' then
  h = call('GET', record)
  cut = string.find(h, '\n', 1, true)
  if not cut then
    return redis.error_reply('NORECORD the key ' .. record .. ' has something that is no record of lockgw')
  end
end
local at = cut and string.find(h, ' [@~]', 54)
if at and at > cut then
  at = nil
end
local was = at and string.sub(h, at + 2, cut - 1) or nil
local first = cut and string.sub(h, 1, cut) or ''

-- text is the whole record.
local function text() return #h < 256 and h or call('GET', record) end

local us, ms
local function clock()
  if not us then
    local t = call('TIME')
    us = t[1] * 1000000 + t[2]
    ms = math.floor(us / 1000)
  end
  return ms
end

-- place is where the end of a hold stands.
local function place(id)
  local p = string.find(first, ' ' .. id .. '=', 54, true) or string.find(first, ' ' .. id .. '?', 54, true)
  return p and p + #id + 2 or nil
end

local function ends(p) return tonumber(string.sub(h, p, p + 12)) end

local function ours() return was ~= nil and redis.pcall('HEXISTS', lock, was) == 1 end

-- there is the name as it is now: the record; whether the lock is gone (0), as it has to
-- be (1) or somebody else's (2), and then its rest, a field and the number in it; clock;
-- counter.
local function there()
  local state, left, field = 1, 0, {}
  if not ours() then
    state = call('EXISTS', lock) == 1 and 2 or 0
  end
  clock()
  if state == 2 then
    left = call('PTTL', lock)
    if h ~= '' then -- who waits looks again before that
      call('PEXPIRE', record, math.max(left, 0) + minute + minute / 2, 'GT')
    end
    if call('TYPE', lock).ok == 'hash' then
      field = call('HRANDFIELD', lock, 2, 'WITHVALUES')
      if field[1] == 'mode' and field[3] then
        field[1], field[2] = field[3], field[4]
      end
    end
  end
  local given = redis.pcall('GET', counter)
  return { 0, text(), state, left, field[1] or '', field[2] or '', int(us), type(given) == 'string' and given or '' }
end

-- reserve returns what the fences of a new record count from, and up to which fence a
-- record with this top may grow without asking again.
--
-- Fences follow the clock. One that was set back must not repeat those of names that are
-- forgotten. So the mark has the clock when it was last set, and a fence that no record of
-- the slot is above. Once the clock is behind the one, fences count from the other.
local function reserve(top, fresh, least)
  clock()
  local c, u = string.match(call('GET', mark) or '0 0', '^(%d+) (%d+)$')
  c, u = tonumber(c), tonumber(u)
  local behind, base = us < c, 0
  if fresh then
    base = math.max(us, least, behind and u or 0)
  end
  local some = 16777216
  local cap = base + top + (behind and 1024 or some)
  if behind then
    call('SET', mark, int(math.max(c, u, cap)) .. ' ' .. int(math.max(u, cap)), 'PX', '259200000')
  elseif cap > u then
    call('SET', mark, int(us) .. ' ' .. int(cap + some), 'PX', '259200000')
  end
  return base, cap
end

-- based puts the base into the JSON of a new record.
local function based(json, base)
  if base == 0 then
    return json
  end
  return '{"v":1,"base":' .. int(base) .. string.sub(json, 16)
end

-- tell publishes a message, with the record while that is small.
local function tell(channel, what, all)
  clock()
  return call('PUBLISH', channel, #all > 2048 and what or what .. ' ' .. int(us) .. ' ' .. all)
end
