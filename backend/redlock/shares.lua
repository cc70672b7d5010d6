-- Several holds of one name at once: shared ones, or those of a semaphore. Each
-- contender's is called its share here. To the lock they are what they are in package
-- redis: a field owner:fence for each, and the field mode.
--
-- Any two majorities have a node in common, which lets nobody in beside a share of
-- another mode. Permits cannot be counted so: of a semaphore of 2 three nodes have six
-- in all, enough for three majorities. So each permit has a number, and is held by
-- whoever has that very one on a majority.
--
-- In shares a contender has "inc seq fence block turns turn described before permit
-- owner record", permit "-" where there is none; #permit -> the contender who has it.

local share_form = '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+) (%S+) (.*)$'

-- several is the mode of those who hold the name, nil if it is not held in this way.
local function several()
  local m = redis.pcall('HGET', lock, 'mode')
  return type(m) == 'string' and string.match(m, '^lockgw (%-?%d+)$') or nil
end

local function field_of(h) return h.owner .. ':' .. h.fence end

local function read_share(c)
  local text = redis.call('HGET', shares, c)
  if not text then
    return nil
  end
  local h = { by = c, share = true }
  h.inc, h.seq, h.fence, h.block, h.turns, h.turn, h.described, h.before, h.permit, h.owner, h.record =
    string.match(text, share_form)
  return h
end

-- share of contender c; somebody may have deleted the lock, or taken it since.
local function share(c)
  local h = read_share(c)
  return h and redis.pcall('HEXISTS', lock, field_of(h)) == 1 and h or nil
end

local function write_share(h)
  redis.call('HSET', shares, h.by, table.concat(
    { h.inc, h.seq, h.fence, h.block, h.turns, h.turn, h.described, h.before, h.permit, h.owner, h.record }, ' '))
  if h.permit ~= '-' then
    redis.call('HSET', shares, '#' .. h.permit, h.by)
  end
end

-- fit has the lock last as long as the last of the shares.
local function fit()
  local newest = redis.call('ZREVRANGE', ends, 0, 0, 'WITHSCORES')
  if not newest[1] then
    redis.call('DEL', lock, shares, ends)
    return
  end
  for _, key in ipairs({ lock, shares, ends }) do
    redis.call('PEXPIREAT', key, int(tonumber(newest[2])))
  end
end

-- until_then has c's share last till then (ms), or longer if it did already.
local function until_then(c, till)
  local before = redis.call('ZSCORE', ends, c)
  if not before or tonumber(before) < till then
    redis.call('ZADD', ends, int(till), c)
    fit()
  end
end

local function drop_share(c)
  local h = read_share(c)
  if h then
    redis.call('HDEL', lock, field_of(h))
    redis.call('HDEL', shares, c, '#' .. h.permit)
  end
  redis.call('ZREM', ends, c)
end

-- make_share has the lock be held by h, too, for ttl.
local function make_share(h)
  redis.call('HSET', lock, field_of(h), count, 'mode', 'lockgw ' .. mode)
  write_share(h)
  until_then(h.by, ms + ttl)
end

-- give_up drops the share h. With a delay, nobody has it for so long.
local function give_up(h)
  drop_share(h.by)
  if delay ~= '0' then
    h.by, h.owner, h.record = '~' .. h.fence, 'lockgw:delay', ''
    redis.call('HSET', lock, field_of(h), '1')
    write_share(h)
    redis.call('ZADD', ends, int(ms + delay), h.by)
  end
  fit()
end

-- sweep drops the shares that have run out, or whose lock somebody has deleted.
local function sweep()
  if redis.call('EXISTS', ends) == 0 then
    return
  end
  if not several() then
    redis.call('DEL', shares, ends)
    return
  end
  local over = redis.call('ZRANGEBYSCORE', ends, '-inf', int(ms))
  for _, c in ipairs(over) do
    drop_share(c)
  end
  if #over > 0 then
    fit()
  end
end
sweep()

-- late_share is the one of the newest fence among some that end last: thousands may
-- have the name, and to look at them all would keep the node from everybody.
local function late_share()
  local best
  for _, c in ipairs(redis.call('ZREVRANGE', ends, 0, 15)) do
    local h = read_share(c)
    if h and (not best or tonumber(h.fence) > tonumber(best.fence)) then
      best = h
    end
  end
  return best
end

-- share_at is the share that begins with fence.
local function share_at(fence)
  for _, c in ipairs(redis.call('ZRANGE', ends, 0, -1)) do
    local h = share(c)
    if h and h.fence == fence then
      return h
    end
  end
end

-- room: some of a semaphore is left.
local function room()
  local n = tonumber(several() or '0')
  return n > 0 and redis.call('ZCARD', ends) < n
end

-- free_permits are some of those that nobody has here.
local function free_permits()
  local free = {}
  if not room() then
    return ''
  end
  for i = 0, tonumber(mode) - 1 do
    local p = int((i + permit) % mode)
    if redis.call('HEXISTS', shares, '#' .. p) == 0 then
      free[#free + 1] = p
    end
    if #free == 8 or #free > 0 and i > 1000 then
      break
    end
  end
  return table.concat(free, ' ')
end
