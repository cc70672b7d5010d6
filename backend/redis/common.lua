-- What the scripts share that have more to do than the quick ones. See head.lua for
-- KEYS and ARGV.

local function slot_of(contender) return string.match(contender, '%.(.+)$') or '-' end

-- awake forgives the sender's node the provisional hold that it let run out.
local function awake()
  redis.call('HDEL', entries, '~' .. node_of(me))
  sweep()
end

-- hold is the present hold if it is one of lockgw. The state alone proves
-- nothing: somebody may have deleted the lock, or taken it since.
local function hold()
  local h = redis.call('HMGET', state, 'by', 'inc', 'seq', 'fence', 'block', 'turns', 'turn', 'owner', 'provisional', 'record', 'described')
  if not h[1] or redis.pcall('HEXISTS', lock, h[8]) ~= 1 then
    return nil
  end
  return {
    by = h[1], inc = h[2], seq = h[3], fence = h[4], block = h[5], turns = h[6], turn = h[7], owner = h[8],
    provisional = h[9] == '1', record = h[10], described = h[11] or '0',
  }
end

local function taken() return redis.call('EXISTS', lock) == 1 end

-- held_by is c's hold: the only one, or its share.
local function held_by(c)
  local h = hold()
  if h then
    return h.by == c and h or nil
  end
  return share(c)
end

-- let_go drops the hold h.
local function let_go(h, delay)
  if h.share then
    give_up(h, delay)
  else
    free(delay)
  end
end

-- An entry is what has to be known of a contender to grant to it.
local entry_form = '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%-?%d+) (%S+) (.*)$'

local function entry(contender)
  local text = redis.call('HGET', entries, contender)
  if not text then
    return nil
  end
  local e = {}
  e.inc, e.seq, e.till, e.ttl, e.turns, e.least, e.waiters, e.mode, e.owner, e.record = string.match(text, entry_form)
  return e.inc and e
end

-- ticket is after everybody's. But who speaks for a whole node has callers who came
-- before those of the node that stand in the queue by themselves.
local function ticket()
  if me == node_of(me) then
    for _, c in ipairs(redis.call('ZRANGE', queue, 0, -1)) do
      if node_of(c) == me then
        return string.format('%.1f', redis.call('ZSCORE', queue, c) - 0.5)
      end
    end
  end
  local newest = redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')
  return int(math.max(us, math.floor(newest[2] or '0') + 1))
end

-- enqueue: who is there already keeps the ticket. The entry ends by itself when
-- its node has not asked again for a minute more than it should have.
local function enqueue()
  local life = math.max(redis.call('PTTL', lock), 0) + ttl + remember
  if not redis.call('ZSCORE', queue, me) then
    redis.call('ZADD', queue, ticket(), me)
  end
  redis.call('HSET', entries, me, table.concat({ inc, seq, int(ms + life), ttl, turns, least, waiters, mode, owner, record }, ' '))
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

-- others_wait: a contender of another node stands in the queue, or so many do that
-- this is likely.
local function others_wait()
  local some = redis.call('ZRANGE', queue, 0, 16)
  for _, c in ipairs(some) do
    if node_of(c) ~= node_of(me) then
      return true
    end
  end
  return #some > 16
end

-- worn is spent, or the counter is no string at all.
local function worn(n)
  return spent(n) or not seen[3] and reserved == 0 and redis.call('EXISTS', counter) == 1
end

-- refuse tells what is wrong with the counter.
local function refuse() return { 'spent', counter, seen[3] or redis.call('TYPE', counter).ok } end

-- grant is a new hold in the words of an answer.
local function grant(c, e, life, provisional)
  local f = (e.mode == '0' and make or make_share)(c, e, life, provisional)
  return { 'granted', f, f, e.turns, others_wait() and 1 or 0 }
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

local function granted(h)
  return { 'granted', h.fence, h.block, h.turns, others_wait() and 1 or 0 }
end

-- own makes owner the one in the lock.
local function own(h)
  local before, now = h.owner, owner
  if h.share then
    before, now = field_of(before, h.fence), field_of(now, h.fence)
  end
  redis.call('HSET', lock, now, count)
  if before ~= now then -- not before: without a field the key would be gone, and its expiry
    redis.call('HDEL', lock, before)
  end
end

-- write has the store keep what was changed of the hold h.
local function write(h)
  if h.share then
    write_share(h)
    return
  end
  redis.call('HSET', state, 'inc', h.inc, 'seq', h.seq, 'block', h.block, 'turns', h.turns, 'turn', h.turn,
    'owner', h.owner, 'provisional', h.provisional and '1' or '0', 'record', h.record, 'described', h.described)
end

-- restore makes the sender's hold anew, as it says that it was.
local function restore()
  local h = {
    by = me, inc = '0', seq = '0', fence = the_hold, block = block, turns = turns, turn = turn,
    provisional = false, described = '0', owner = owner, record = record, share = mode ~= '0',
  }
  if h.share then
    redis.call('HSET', lock, field_of(owner, the_hold), count, 'mode', 'lockgw ' .. mode)
    write(h)
    until_then(me, ms + ttl) -- at last: it has all keys expire
    return h
  end
  redis.call('HSET', lock, owner, count)
  redis.call('HSET', state, 'by', me, 'fence', the_hold)
  write(h)
  redis.call('PEXPIRE', lock, ttl)
  redis.call('PEXPIRE', state, ttl)
  return h
end

-- describe writes whose turn it is under the hold h.
local function describe(h)
  own(h)
  h.owner, h.turn, h.record, h.described = owner, turn, record, seq
  write(h)
end

-- lease makes the hold h of the sender, perhaps provisional, a lease by owner.
local function lease(h)
  if h.provisional then
    own(h)
    h.owner, h.turn, h.provisional, h.record = owner, int(math.max(h.turn, turn)), false, record
    write(h)
  end
  prolong(h)
  dequeue(me)
  return granted(h)
end

-- withdraw takes back what the request numbered attempt has left of the sender: its
-- place in the queue, or what it was granted there.
local function withdraw()
  local e, h = entry(me), held_by(me)
  if e and e.seq == attempt then
    dequeue(me)
  end
  if h and h.seq == attempt then
    let_go(h, '0')
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
local offered = false
local function offer(c, e)
  local f = next_fence(least, e.least)
  if redis.call('PUBLISH', channel_of(c, e.inc), 'g ' .. int(f) .. ' ' .. slot_of(c) .. ' ' .. name) == 0 then
    return false
  end
  grant(c, e, window, '1')
  redis.call('HSET', entries, '~' .. node_of(c), int(ms + window)) -- until it asks for something
  tell_second(c)
  offered = true
  return true
end

-- hears: c's node listens. The message means nothing to it.
local function hears(c, e)
  return redis.call('PUBLISH', channel_of(c, e.inc), 'p ' .. slot_of(c) .. ' ' .. name) > 0
end

-- suspected: the node has let a provisional hold run out.
local function suspected(node)
  local till = redis.call('HGET', entries, '~' .. node)
  return till and tonumber(till) <= ms or false
end

-- promote gives the name to the first reachable contender, and to those after it who
-- may have it at the same time; last to those whose node let a provisional hold run
-- out. The answer is asks' lease, if it is among them.
local function promote(asks)
  if taken() and not several() or not known() then
    return nil
  end
  local deaf, answer = {}, nil
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
        elseif suspected(node) == suspect and not share(c) then
          if taken() and not room(e.mode) then
            if c == asks or not deaf[node] and hears(c, e) then
              return answer -- nobody overtakes it
            end
            deaf[node] = true
          elseif worn(e.turns) then
            return answer
          elseif c == asks then
            dequeue(c)
            i = i - 1
            answer = grant(c, e, e.ttl, '0')
          elseif not deaf[node] then
            deaf[node] = not offer(c, e)
          end
          if hold() then
            return answer
          end
        end
      end
      some = redis.call('ZRANGE', queue, i, i + 31)
    end
  end
  return answer
end

-- holder is who has the name now: rest of the lease, whether provisional, ...
local function holder(word)
  local ahead = redis.call('ZRANK', queue, me) or 0
  local m = several()
  local h, left = hold(), redis.call('PTTL', lock)
  if m then
    h, left = share(redis.call('ZREVRANGE', ends, 0, 0)[1]), frees(mode)
  end
  if h then
    return { word, left, h.provisional and 1 or 0, 0, h.owner, node_of(h.by), h.fence, h.turn, h.record, ahead }
  end
  if left == -2 then
    return { word, known() and 0 or 1000, 0, 0, '', '', '0', '0', '', ahead }
  end
  local field = ''
  if redis.call('TYPE', lock).ok == 'hash' then
    field = redis.call('HKEYS', lock)[1]
  end
  return { word, left, 0, 1, field, '', '0', '0', '', ahead }
end

-- tell_holder lets the holding node know that another one waits.
local function tell_holder()
  local by = redis.call('HMGET', state, 'by', 'inc')
  if by[1] and node_of(by[1]) ~= node_of(me) then
    redis.call('PUBLISH', channel_of(by[1], by[2]), 'o ' .. slot_of(by[1]) .. ' ' .. name)
  end
end

-- A lock, shared or not, and semaphores of different sizes are of different kinds,
-- and a name is of one kind as long as somebody holds it or waits for it.
local function kind(m) return tonumber(m) > 0 and m or 'lock' end

-- clashes: the name is of another kind, or its holder outside lockgw is one with
-- which that kind cannot be shared safely.
local function clashes()
  local present
  if not taken() then
    for _, c in ipairs(redis.call('ZRANGE', queue, 0, 31)) do
      local e = entry(c)
      if e and kind(e.mode) == kind(mode) then
        return false
      elseif e and tonumber(e.till) > ms and hears(c, e) then -- else nobody waits any more
        return true
      end
    end
    return false
  elseif hold() then
    present = '0'
  else
    present = several()
    if not present then
      return kind(mode) ~= 'lock' or redis.pcall('HEXISTS', lock, 'mode') == 1
    end
  end
  return present and kind(present) ~= kind(mode)
end

-- contend asks for the name, as Backend.Acquire says.
local function contend()
  local h = held_by(me)
  if h then
    if h.seq == seq and h.inc == inc then
      return lease(h)
    end
    let_go(h, '0')
  end
  if clashes() then
    dequeue(me)
    promote(nil)
    return { 'conflict' }
  end
  if worn(turns) then
    dequeue(me)
    return refuse()
  end
  if redis.call('EXISTS', lock, queue) == 0 and known() then
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
  if offered or h and h.provisional then
    return { 'done', window }
  end
  return { 'done', 0 }
end
