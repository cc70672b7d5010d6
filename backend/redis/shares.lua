-- Several holds of one name at once: shared ones, or those of a semaphore. Each
-- contender's is called its share here.
--
-- The lock then has a field owner:fence for each share, and the field mode, which is
-- "lockgw -1" for shared holds and "lockgw 5" for those of a semaphore of 5. A plain
-- lock of Redisson finds the name taken, and so, for the mode is not one of theirs, do
-- its read-write locks.

local share_form = '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) ([01]) (%d+) (%S+) (.*)$'

-- several is the mode of those who hold the name, nil if it is not held in this way.
local function several()
  local m = redis.pcall('HGET', lock, 'mode')
  return type(m) == 'string' and string.match(m, '^lockgw (%-?%d+)$') or nil
end

local function field_of(owner, fence) return owner .. ':' .. fence end

-- share of contender c; somebody may have deleted the lock, or taken it since.
local function share(c)
  local text = redis.call('HGET', shares, c)
  if not text then
    return nil
  end
  local h, provisional = { by = c, share = true }, nil
  h.inc, h.seq, h.fence, h.block, h.turns, h.turn, provisional, h.described, h.owner, h.record =
    string.match(text, share_form)
  h.provisional = provisional == '1'
  return redis.pcall('HEXISTS', lock, field_of(h.owner, h.fence)) == 1 and h or nil
end

local function write_share(h)
  local provisional = h.provisional and '1' or '0'
  redis.call('HSET', shares, h.by, table.concat(
    { h.inc, h.seq, h.fence, h.block, h.turns, h.turn, provisional, h.described, h.owner, h.record }, ' '))
end

-- fit has the lock last as long as the last of the shares.
local function fit()
  local last = redis.call('ZREVRANGE', ends, 0, 0, 'WITHSCORES')
  if not last[1] then
    redis.call('DEL', lock, shares, ends)
    announce()
    return
  end
  for _, key in ipairs({ lock, shares, ends }) do
    redis.call('PEXPIREAT', key, int(tonumber(last[2])))
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
  local fence, owner = string.match(redis.call('HGET', shares, c) or '', '^%d+ %d+ (%d+) %d+ %d+ %d+ [01] %d+ (%S+)')
  if owner then
    redis.call('HDEL', lock, field_of(owner, fence))
  end
  redis.call('HDEL', shares, c)
  redis.call('ZREM', ends, c)
end

-- give_up drops the share h. With a delay, nobody has it for so long.
local function give_up(h, delay)
  drop_share(h.by)
  if delay ~= '0' then
    local nobody = { by = '~' .. h.fence, owner = 'lockgw:delay', record = '' }
    redis.call('HSET', lock, field_of(nobody.owner, h.fence), '1')
    for _, k in ipairs({ 'inc', 'seq', 'fence', 'block', 'turns', 'turn', 'described' }) do
      nobody[k] = h[k]
    end
    write_share(nobody)
    redis.call('ZADD', ends, int(ms + delay), nobody.by)
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

-- make_share is make for a mode that lets others in.
local function make_share(c, e, life, provisional)
  local f = reserve(e.turns, least, e.least)
  redis.call('HSET', lock, field_of(e.owner, f), '1', 'mode', 'lockgw ' .. e.mode)
  write_share({
    by = c, inc = e.inc, seq = e.seq, fence = f, block = f, turns = e.turns, turn = f,
    provisional = provisional == '1', described = '0', owner = e.owner, record = e.record,
  })
  until_then(c, ms + life)
  return f
end

-- room: those who hold the name let in one more of that mode.
local function room(m)
  return m ~= '0' and several() == m and (tonumber(m) < 0 or redis.call('ZCARD', ends) < tonumber(m))
end

-- frees is when the next share ends if nobody prolongs it, in ms from now; for who
-- waits until nobody has one any more, when the last does.
local function frees(m)
  local order = m == several() and m ~= '-1' and 'ZRANGE' or 'ZREVRANGE'
  return math.max(tonumber(redis.call(order, ends, 0, 0, 'WITHSCORES')[2]) - ms, 1)
end
