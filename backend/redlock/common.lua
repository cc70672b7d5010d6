-- What the scripts about one name share that have to know of the hold. See head.lua for
-- KEYS and ARGV.

local function taken() return redis.call('EXISTS', lock) == 1 end

-- hold is the present hold if it is one of lockgw. The state alone proves
-- nothing: somebody may have deleted the lock, or taken it since.
local function hold()
  local h = redis.call('HMGET', state, 'by', 'inc', 'seq', 'fence', 'block', 'turns', 'turn', 'owner', 'before', 'record', 'described')
  if not h[1] or redis.pcall('HEXISTS', lock, h[8]) ~= 1 then
    return nil
  end
  return {
    by = h[1], inc = h[2], seq = h[3], fence = h[4], block = h[5], turns = h[6], turn = h[7], owner = h[8],
    before = h[9], record = h[10], described = h[11],
  }
end

-- held_by is c's hold: the only one, or its share.
local function held_by(c)
  local h = hold()
  if h then
    return h.by == c and h or nil
  end
  return share(c)
end

local function each_mark(f)
  local all = redis.call('HGETALL', waits)
  for i = 1, #all, 2 do
    local till, seq, n, since, by_inc, m = string.match(all[i + 1], '^(%d+) (%d+) (%d+) (%d+) (%d+) (%-?%d+)$')
    if till and tonumber(till) > ms then
      f({ by = all[i], seq = seq, since = tonumber(since), inc = by_inc, mode = m })
    end
  end
end

-- mark_of is the mark of contender c, if it waits.
local function mark_of(c)
  local found
  each_mark(function(w) found = w.by == c and w or found end)
  return found
end

-- others: another contender has asked to be told.
local function others()
  local n = 0
  each_mark(function(w) n = w.by ~= me and 1 or n end)
  return n
end

-- mark notes that the sender wants to be told when the name is free. Who is noted
-- already keeps the place. The mark ends by itself if its node never asks again.
local function mark()
  local w = mark_of(me)
  local life = ttl + slack
  redis.call('HSET', waits, me, table.concat({ int(ms + life), seq, waiters, int(w and w.since or ms), inc, mode }, ' '))
  if redis.call('PTTL', waits) < life then
    redis.call('PEXPIRE', waits, int(life))
  end
end

-- listens: w's node can be told. If not, its mark goes, and others may not have to wait.
local unbarred = false
local function listens(w)
  if redis.call('PUBSUB', 'NUMSUB', channel_of(w.by, w.inc))[2] > 0 then
    return true
  end
  redis.call('HDEL', waits, w.by)
  unbarred = true
  return false
end

-- barred: one who wants the name alone asked before the sender, and can be told. Else
-- shared holds that overlap would keep it waiting for ever.
local function barred()
  local w, found = mark_of(me), false
  each_mark(function(o)
    if o.mode == '0' and o.by ~= me and (not w or o.since < w.since) then
      found = listens(o) or found
    end
  end)
  return found
end

-- A lock, shared or not, and semaphores of different sizes are of different kinds.
local function kind(m) return tonumber(m) > 0 and m or 'lock' end

-- blocked says why the sender is not let in: 'held', 'conflict', or nil. It may have
-- the hold h itself.
local function blocked(h)
  local present = several()
  if present then
    present = redis.call('ZCARD', ends) > (h and 1 or 0) and present
  elseif taken() and not h then
    if not hold() then -- of somebody outside lockgw
      return (kind(mode) ~= 'lock' or redis.pcall('HEXISTS', lock, 'mode') == 1) and 'conflict' or 'held'
    end
    present = '0'
  end
  local clash = present and kind(present) ~= kind(mode)
  if not present then
    each_mark(function(w) clash = clash or w.by ~= me and kind(w.mode) ~= kind(mode) and listens(w) end)
  end
  if clash then
    return 'conflict'
  end
  if not present then
    return nil
  end
  if mode == '0' or mode ~= present then
    return 'held'
  end
  if mode == '-1' then
    return barred() and 'held' or nil
  end
  local other = redis.call('HGET', shares, '#' .. permit)
  return other and other ~= me and 'held' or nil
end

-- prolong has the hold h last for ttl from now on, or longer if it did already: a
-- late repeat must not undo what a later request has set.
local function prolong(h)
  if h.share then
    until_then(h.by, ms + ttl)
  elseif redis.call('PTTL', lock) < tonumber(ttl) then
    redis.call('PEXPIRE', lock, ttl)
    redis.call('PEXPIRE', state, ttl)
  end
end

-- write has the node keep what was changed of the hold h.
local function write(h)
  if h.share then
    write_share(h)
    return
  end
  redis.call('HSET', state, 'by', h.by, 'inc', h.inc, 'seq', h.seq, 'fence', h.fence, 'block', h.block, 'turns', h.turns,
    'turn', h.turn, 'owner', h.owner, 'before', h.before, 'record', h.record, 'described', h.described)
end

local function raise(newest)
  if newest > reserved then
    reserved = newest
    put(counter, int(reserved))
  end
end

-- make makes the hold of the sender that begins with fence and has the block of turns
-- fences.
local function make(fence, block, before, described)
  local h = {
    by = me, inc = inc, seq = attempt, fence = fence, block = block, turns = turns, turn = turn, owner = owner,
    before = int(before), record = record, described = described, permit = permit, share = mode ~= '0',
  }
  if h.share then
    make_share(h)
  else
    redis.call('HSET', lock, owner, count)
    redis.call('PEXPIRE', lock, ttl)
    write(h)
    redis.call('PEXPIRE', state, ttl)
  end
  reserved = math.max(reserved, block + turns - 1)
  put(counter, int(reserved))
end

-- describe writes whose turn it is under the hold h.
local function describe(h)
  local before = h.share and field_of(h) or h.owner
  h.owner, h.turn, h.record, h.described = owner, turn, record, seq
  local now = h.share and field_of(h) or h.owner
  redis.call('HSET', lock, now, count)
  if before ~= now then -- not before: without a field the key would be gone, and its expiry
    redis.call('HDEL', lock, before)
  end
  write(h)
end

-- reserve makes block the newest one of h.
local function reserve(h, block)
  h.block, h.turns = block, turns
  write(h)
  raise(block + turns - 1)
end

-- bury notes that the hold beginning with fence is over, so that no late request
-- brings it back, and that newest is the last fence given. A ballot that has failed
-- was never a hold: it only becomes the floor, and an older hold may be set again.
local function bury(fence, newest, shared, failed)
  raise(fence)
  if shared and not failed then
    share_over = math.max(share_over, fence)
    redis.call('SET', floor, seen_inc .. ' ' .. seen_seq .. ' ' .. int(share_over), 'PX', remember)
  elseif not failed then
    over = math.max(over, fence)
  end
  put(last, int(newest) .. ' ' .. int(reserved) .. ' ' .. int(over))
end

-- missing: the hold that the request names may be of the sender, and set again here.
local function missing()
  return tonumber(the_hold) > math.max(over, share_over) and (not taken() or several()) and 'missing' or 'nothold'
end

-- tell lets those know who asked to be told, in the order in which they came: the
-- first one at once, the second after a while, for the first may not take it; all
-- who want to share at once. Whom nobody listens for is passed over, and asks again
-- when it is back. fence tells the news apart, 0: it cannot.
local function tell(fence)
  local list = {}
  each_mark(function(w) list[#list + 1] = w end)
  table.sort(list, function(a, b) return a.since < b.since or (a.since == b.since and a.by < b.by) end)
  local word, first = 'f ', nil
  for _, w in ipairs(list) do
    if first and not (first == '-1' and w.mode == '-1') then
      word = 'w '
    end
    if redis.call('PUBLISH', channel_of(w.by, w.inc), word .. fence .. ' ' .. slot_of(w.by) .. ' ' .. name) == 0 then
      redis.call('HDEL', waits, w.by)
    elseif word == 'w ' then
      return
    else
      first = w.mode
    end
  end
end

-- free drops the hold h, nil: of somebody outside lockgw. With a delay, a lock of
-- nobody keeps the name from all.
local function free(h, fence)
  if h and h.share then
    give_up(h)
    fence = 0 -- shares do not end in the order of their fences
  else
    redis.call('DEL', lock, state)
    if delay ~= '0' then
      redis.call('HSET', lock, 'lockgw:delay', '1')
      redis.call('PEXPIRE', lock, delay)
    end
  end
  if not several() then
    redis.call('PUBLISH', channel, '0')
  end
  if several() ~= '-1' then -- who waits for shared holds waits for all of them
    tell(fence)
  end
end
