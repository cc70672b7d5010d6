-- What the scripts of one name have in common.
--
-- KEYS 1 lock      hash owner -> entries: what Redisson and we lock by
--      2 state     hash: the hold behind it, where it is one of lockgw
--      3 queue     zset contender -> ticket
--      4 entries   hash contender -> its request; ~node -> 1 where the node let a provisional hold run out
--      5 counter   newest fence reserved
--      6 last      "fence counter" when a hold was released: the last fence it gave
--      7 floor     "incarnation seq" of the newest request of this contender
--      8 nodefloor the same of its node, for the incarnation; often the same key
-- ARGV 1 contender (node or node.slot)   2 incarnation   3 seq
--      4 Redisson's channel   5 window ms   6 fence ttl ms, 0: for ever   7 name
--      8 hold   9 block   10 attempt   11 owner   12 count   13 ttl ms   14 turns   15 floor of the fence
--      16 queue 0|1   17 waiters   18 turn   19 delay ms   20 record
local lock, state, queue, entries, counter, last, floor, nodefloor = unpack(KEYS)
local me, inc, seq = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local channel, window, fence_ttl, name = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
local the_hold, owner, ttl, turns = tonumber(ARGV[8]), ARGV[11], tonumber(ARGV[13]), tonumber(ARGV[14])
local least, wants_queue = tonumber(ARGV[15]), ARGV[16] == '1'
local remember = 60000 -- ms; longer than a request can be under way

local clock = redis.call('TIME')
local us = clock[1] * 1000000 + clock[2]
local ms = math.floor(us / 1000)

-- Numbers are doubles here: printed otherwise, a fence would lose its end.
local function int(n) return string.format('%.0f', n) end

local function node_of(contender) return string.match(contender, '^[^.]+') end

local function slot_of(contender) return string.match(contender, '%.(.+)$') or '-' end

-- admit refuses a request that was overtaken, and notes that the node is awake.
local function admit(numbered)
  local seen_inc, seen_seq = string.match(redis.call('GET', floor) or '0 0', '^(%d+) (%d+)$')
  seen_inc, seen_seq = tonumber(seen_inc), tonumber(seen_seq)
  local node_inc = seen_inc
  if nodefloor ~= floor then
    node_inc = tonumber(string.match(redis.call('GET', nodefloor) or '0', '^%d+'))
  end
  if inc < math.max(seen_inc, node_inc) or (numbered and inc == seen_inc and seq < seen_seq) then
    return false
  end
  if numbered then
    redis.call('SET', floor, int(inc) .. ' ' .. int(seq), 'PX', remember)
  end
  if nodefloor ~= floor then
    redis.call('SET', nodefloor, int(inc) .. ' 0', 'PX', remember)
  end
  redis.call('HDEL', entries, '~' .. node_of(me))
  return true
end

-- hold is the present hold if it is one of lockgw. The state alone proves
-- nothing: somebody may have deleted the lock, or taken it since.
local function hold()
  local h = redis.call('HMGET', state, 'by', 'inc', 'seq', 'fence', 'block', 'turns', 'turn', 'owner', 'provisional', 'record')
  if not h[1] or redis.pcall('HEXISTS', lock, h[8]) ~= 1 then
    return nil
  end
  return {
    by = h[1], inc = tonumber(h[2]), seq = tonumber(h[3]), fence = tonumber(h[4]), block = tonumber(h[5]),
    turns = tonumber(h[6]), turn = tonumber(h[7]), owner = h[8], provisional = h[9] == '1', record = h[10],
  }
end

local function taken() return redis.call('EXISTS', lock) == 1 end

-- free drops the hold. With a delay, a lock of nobody keeps the name from all.
local function free(delay)
  redis.call('DEL', lock, state)
  if delay > 0 then
    redis.call('HSET', lock, 'lockgw:delay', 1)
    redis.call('PEXPIRE', lock, delay)
  end
  redis.call('PUBLISH', channel, '0')
end

local function put(key, value, life)
  if life > 0 then
    redis.call('SET', key, value, 'PX', life)
  else
    redis.call('SET', key, value)
  end
end

local function next_fence(atleast)
  return math.max((tonumber(redis.call('GET', counter) or '0') or 0) + 1, us, atleast + 1)
end

-- reserve takes the next n fences.
local function reserve(n, atleast)
  local f = next_fence(atleast)
  put(counter, int(f + n - 1), fence_ttl)
  return f
end

-- An entry is what has to be known of a contender to grant to it.
local entry_form = '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+) (.*)$'

local function entry(contender)
  local text = redis.call('HGET', entries, contender)
  if not text then
    return nil
  end
  local e_inc, e_seq, till, e_ttl, e_turns, e_least, waiters, e_owner, e_record = string.match(text, entry_form)
  return {
    inc = tonumber(e_inc), seq = tonumber(e_seq), till = tonumber(till), ttl = tonumber(e_ttl), turns = tonumber(e_turns),
    least = tonumber(e_least), waiters = tonumber(waiters), owner = e_owner, record = e_record,
  }
end

-- enqueue: who is there already keeps the ticket. The entry ends by itself when
-- its node has not asked again for a minute more than it should have.
local function enqueue()
  local life = math.max(redis.call('PTTL', lock), 0) + ttl + remember
  if not redis.call('ZSCORE', queue, me) then
    local newest = redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')
    redis.call('ZADD', queue, int(math.max(us, (tonumber(newest[2] or '0')) + 1)), me)
  end
  redis.call('HSET', entries, me, table.concat({
    int(inc), int(seq), int(ms + life), int(ttl), int(turns), int(least), ARGV[17], owner, ARGV[20],
  }, ' '))
  for _, key in ipairs({ queue, entries }) do
    if redis.call('PTTL', key) < life + remember then
      redis.call('PEXPIRE', key, int(life + remember))
    end
  end
end

local function dequeue(contender)
  redis.call('ZREM', queue, contender)
  redis.call('HDEL', entries, contender)
end

local function others_wait()
  local n = redis.call('ZCARD', queue)
  if n > 0 and redis.call('ZSCORE', queue, me) then
    n = n - 1
  end
  return n > 0
end

-- grant makes a new hold for contender c by its entry e.
local function grant(c, e, life, provisional)
  local f = reserve(e.turns, math.max(least, e.least))
  redis.call('HSET', lock, e.owner, 1)
  redis.call('PEXPIRE', lock, int(life))
  redis.call('HSET', state, 'by', c, 'inc', int(e.inc), 'seq', int(e.seq), 'fence', int(f), 'block', int(f),
    'turns', int(e.turns), 'turn', int(f), 'owner', e.owner, 'provisional', provisional, 'record', e.record,
    'described', 0) -- every field, for there may be a state of a lock that somebody deleted
  redis.call('PEXPIRE', state, int(life))
  return { 'granted', int(f), int(f), e.turns, others_wait() and 1 or 0 }
end

-- prolong has the hold last for ttl from now on, or longer if it did already: a
-- late repeat must not undo what a later request has set.
local function prolong()
  if redis.call('PTTL', lock) < ttl then
    redis.call('PEXPIRE', lock, int(ttl))
    redis.call('PEXPIRE', state, int(ttl))
  end
end

local function granted(h)
  return { 'granted', int(h.fence), int(h.block), h.turns, others_wait() and 1 or 0 }
end

-- lease makes the hold h of the sender, perhaps provisional, a lease by owner.
local function lease(h)
  if h.provisional then
    redis.call('HSET', lock, owner, ARGV[12])
    if h.owner ~= owner then -- not before: without a field the key would be gone, and its expiry
      redis.call('HDEL', lock, h.owner)
    end
    redis.call('HSET', state, 'owner', owner, 'turn', int(math.max(h.turn, tonumber(ARGV[18]))), 'provisional', 0, 'record', ARGV[20])
  end
  prolong()
  dequeue(me)
  return granted(h)
end

-- withdraw takes back what the request attempt has left of the sender: its place
-- in the queue, or what it was granted there.
local function withdraw(attempt)
  local e, h = entry(me), hold()
  if e and e.seq == attempt then
    dequeue(me)
  end
  if h and h.by == me and h.seq == attempt then
    free(0)
  end
end

local function channel_of(contender, incarnation)
  return 'lockgw:node:' .. node_of(contender) .. ':' .. int(incarnation)
end

-- tell_second has the first in the queue that is of another node than c watch
-- c's provisional hold.
local function tell_second(c)
  for _, other in ipairs(redis.call('ZRANGE', queue, 0, 7)) do
    local e = node_of(other) ~= node_of(c) and entry(other)
    if e then
      redis.call('PUBLISH', channel_of(other, e.inc), 'w ' .. window .. ' ' .. slot_of(other) .. ' ' .. name)
      return
    end
  end
end

-- offer passes the name to c, who has to confirm within the window. A node that
-- nobody listens for is passed over.
local function offer(c, e)
  local f = next_fence(math.max(least, e.least))
  if redis.call('PUBLISH', channel_of(c, e.inc), 'g ' .. int(f) .. ' ' .. slot_of(c) .. ' ' .. name) == 0 then
    return false
  end
  grant(c, e, window, 1)
  redis.call('HSET', entries, '~' .. node_of(c), 1) -- until it asks for something
  tell_second(c)
  return true
end

-- promote gives a free name to the first reachable contender, those last whose
-- node let a provisional hold run out. The answer is asks' lease, if it is asks.
local function promote(asks)
  if taken() then
    return nil
  end
  local deaf = {}
  for _, suspect in ipairs({ false, true }) do
    local i = 0
    local some = redis.call('ZRANGE', queue, 0, 31)
    while #some > 0 do
      for _, c in ipairs(some) do
        i = i + 1
        local e, node = entry(c), node_of(c)
        if not e or e.till <= ms then
          dequeue(c)
          i = i - 1
        elseif (redis.call('HEXISTS', entries, '~' .. node) == 1) == suspect then
          if c == asks then
            dequeue(c)
            return grant(c, e, e.ttl, 0)
          end
          if not deaf[node] then
            if offer(c, e) then
              return nil
            end
            deaf[node] = true
          end
        end
      end
      some = redis.call('ZRANGE', queue, i, i + 31)
    end
  end
  return nil
end

-- holder is who has the name now: rest of the lease, whether provisional, ...
local function holder(word)
  local h = hold()
  local left = redis.call('PTTL', lock)
  if h then
    return { word, left, h.provisional and 1 or 0, 0, h.owner, node_of(h.by), int(h.fence), int(h.turn), h.record }
  end
  if left == -2 then
    return { word, 0, 0, 0, '', '', '0', '0', '' }
  end
  local field = ''
  if redis.call('TYPE', lock).ok == 'hash' then
    field = redis.call('HKEYS', lock)[1]
  end
  return { word, left, 0, 1, field, '', '0', '0', '' }
end

-- tell_holder lets the holding node know that another one waits.
local function tell_holder()
  local by = redis.call('HMGET', state, 'by', 'inc')
  if by[1] and node_of(by[1]) ~= node_of(me) then
    redis.call('PUBLISH', channel_of(by[1], tonumber(by[2])), 'o ' .. slot_of(by[1]) .. ' ' .. name)
  end
end

-- contend asks for the name, as Backend.Acquire says.
local function contend()
  local h = taken() and hold()
  if h and h.by == me then
    if h.seq == seq and h.inc == inc then
      return lease(h)
    end
    free(0)
  end
  if redis.call('EXISTS', lock, queue) == 0 then
    return grant(me, { inc = inc, seq = seq, ttl = ttl, turns = turns, least = least, owner = owner, record = ARGV[20] }, ttl, 0)
  end
  enqueue()
  local granted = promote(me)
  if granted then
    return granted
  end
  if not wants_queue then
    dequeue(me)
    return holder('held')
  end
  tell_holder()
  return holder('queued')
end

-- pass_on gives a free name to the next, and says how long that one may take.
local function pass_on()
  if redis.call('EXISTS', queue) == 0 then
    return { 'done', 0 }
  end
  promote(nil)
  local h = hold()
  if h and h.provisional then
    return { 'done', redis.call('PTTL', lock) }
  end
  return { 'done', 0 }
end

local function mine(h) return h and h.by == me end
