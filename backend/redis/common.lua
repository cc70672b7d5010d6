-- What the scripts share that have more to do than the quick ones. See head.lua for
-- KEYS and ARGV.

local function slot_of(contender) return string.match(contender, '%.(.+)$') or '-' end

-- awake forgives the sender's node the provisional hold that it let run out.
local function awake() redis.call('HDEL', entries, '~' .. node_of(me)) end

-- hold is the present hold if it is one of lockgw. The state alone proves
-- nothing: somebody may have deleted the lock, or taken it since.
local function hold()
  local h = redis.call('HMGET', state, 'by', 'inc', 'seq', 'fence', 'block', 'turns', 'turn', 'owner', 'provisional', 'record')
  if not h[1] or redis.pcall('HEXISTS', lock, h[8]) ~= 1 then
    return nil
  end
  return {
    by = h[1], inc = h[2], seq = h[3], fence = h[4], block = h[5], turns = h[6], turn = h[7], owner = h[8],
    provisional = h[9] == '1', record = h[10],
  }
end

local function taken() return redis.call('EXISTS', lock) == 1 end

-- An entry is what has to be known of a contender to grant to it.
local entry_form = '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+) (.*)$'

local function entry(contender)
  local text = redis.call('HGET', entries, contender)
  if not text then
    return nil
  end
  local e = {}
  e.inc, e.seq, e.till, e.ttl, e.turns, e.least, e.waiters, e.owner, e.record = string.match(text, entry_form)
  return e
end

-- enqueue: who is there already keeps the ticket. The entry ends by itself when
-- its node has not asked again for a minute more than it should have.
local function enqueue()
  local life = math.max(redis.call('PTTL', lock), 0) + ttl + remember
  if not redis.call('ZSCORE', queue, me) then
    local newest = redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')
    redis.call('ZADD', queue, int(math.max(us, (tonumber(newest[2] or '0')) + 1)), me)
  end
  redis.call('HSET', entries, me, table.concat({ inc, seq, int(ms + life), ttl, turns, least, waiters, owner, record }, ' '))
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

-- grant is a new hold in the words of an answer.
local function grant(c, e, life, provisional)
  local f = make(c, e, life, provisional)
  return { 'granted', f, f, e.turns, others_wait() and 1 or 0 }
end

-- prolong has the hold last for ttl from now on, or longer if it did already: a
-- late repeat must not undo what a later request has set.
local function prolong()
  if redis.call('PTTL', lock) < tonumber(ttl) then
    redis.call('PEXPIRE', lock, ttl)
    redis.call('PEXPIRE', state, ttl)
  end
end

local function granted(h)
  return { 'granted', h.fence, h.block, h.turns, others_wait() and 1 or 0 }
end

-- own makes owner the one in the lock.
local function own(h)
  redis.call('HSET', lock, owner, count)
  if h.owner ~= owner then -- not before: without a field the key would be gone, and its expiry
    redis.call('HDEL', lock, h.owner)
  end
end

-- describe writes whose turn it is under the hold h.
local function describe(h)
  own(h)
  redis.call('HSET', state, 'owner', owner, 'turn', turn, 'record', record, 'described', seq)
end

-- lease makes the hold h of the sender, perhaps provisional, a lease by owner.
local function lease(h)
  if h.provisional then
    own(h)
    redis.call('HSET', state, 'owner', owner, 'turn', int(math.max(h.turn, turn)), 'provisional', '0', 'record', record)
  end
  prolong()
  dequeue(me)
  return granted(h)
end

-- withdraw takes back what the request numbered attempt has left of the sender: its
-- place in the queue, or what it was granted there.
local function withdraw()
  local e, h = entry(me), hold()
  if e and e.seq == attempt then
    dequeue(me)
  end
  if h and h.by == me and h.seq == attempt then
    free('0')
  end
end

local function channel_of(contender, incarnation)
  return 'lockgw:node:' .. node_of(contender) .. ':' .. incarnation
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
  local f = next_fence(least, e.least)
  if redis.call('PUBLISH', channel_of(c, e.inc), 'g ' .. int(f) .. ' ' .. slot_of(c) .. ' ' .. name) == 0 then
    return false
  end
  grant(c, e, window, '1')
  redis.call('HSET', entries, '~' .. node_of(c), '1') -- until it asks for something
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
        if not e or tonumber(e.till) <= ms then
          dequeue(c)
          i = i - 1
        elseif (redis.call('HEXISTS', entries, '~' .. node) == 1) == suspect then
          if c == asks then
            dequeue(c)
            return grant(c, e, e.ttl, '0')
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
    return { word, left, h.provisional and 1 or 0, 0, h.owner, node_of(h.by), h.fence, h.turn, h.record }
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
    redis.call('PUBLISH', channel_of(by[1], by[2]), 'o ' .. slot_of(by[1]) .. ' ' .. name)
  end
end

-- contend asks for the name, as Backend.Acquire says.
local function contend()
  local h = taken() and hold()
  if h and h.by == me then
    if h.seq == seq and h.inc == inc then
      return lease(h)
    end
    free('0')
  end
  if redis.call('EXISTS', lock, queue) == 0 then
    return grant(me, asked(), ttl, '0')
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
