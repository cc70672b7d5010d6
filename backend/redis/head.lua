-- What every script of one name begins with.
--
-- KEYS 1 lock      hash owner -> entries: what Redisson and we lock by
--      2 state     hash: the hold behind it, where it is one of lockgw
--      3 queue     zset contender -> ticket
--      4 entries   hash contender -> its request; ~node -> when a provisional hold of the node runs out, ms
--      5 counter   newest fence reserved
--      6 last      "fence counter" when a hold was released: the last fence it gave
--      7 floor     "incarnation seq" of the newest request of this contender
--      8 nodefloor the same of its node, for the incarnation; often the same key
--      9 shares    hash contender -> its hold, where several have the name at once: see shares.lua
--     10 ends      zset contender -> when that ends, ms
-- ARGV 1 contender (node or node.slot)   2 incarnation   3 seq
--      4 Redisson's channel   5 window ms   6 fence ttl ms, 0: for ever   7 name
--      8 hold   9 block   10 attempt   11 owner   12 count   13 ttl ms   14 turns   15 floor of the fence
--      16 queue 0|1   17 waiters   18 turn   19 delay ms   20 record
--     21 how to publish on Redisson's channel: PUBLISH, SPUBLISH or both
--     22 mode: 0 exclusive, -1 shared, n of a semaphore of n
--     23 guard: "" off; else one of " !?" and the ids of the servers that have forgotten
--        nothing. " ": so has none that we know of; else one may have, and "?" is said with
--        a request that may have been executed before
--
-- Numbers that are only passed on or compared for equality stay the text they came
-- as: to print one costs as much as a command.
local lock, state, queue, entries, counter, last, floor, nodefloor, shares, ends = unpack(KEYS)
local me, inc, seq, channel, window, fence_ttl, name = unpack(ARGV, 1, 7)
local the_hold, block, attempt, owner, count, ttl, turns, least = unpack(ARGV, 8, 15)
local wants_queue, waiters, turn, delay, record, publish, mode, guard = ARGV[16] == '1', unpack(ARGV, 17, 23)
local remember = '60000' -- ms; longer than a request can be under way

local clock = redis.call('TIME')
local us = clock[1] * 1000000 + clock[2]
local ms = math.floor(us / 1000)

-- Numbers are doubles here: printed otherwise, a fence would lose its end.
local function int(n) return string.format('%.0f', n) end

local function node_of(contender) return string.match(contender, '^[^.]+') end

-- put keeps a value for as long as fences have to be known.
local function put(key, value)
  if fence_ttl ~= '0' then
    redis.call('SET', key, value, 'PX', fence_ttl)
  else
    redis.call('SET', key, value)
  end
end

local seen = redis.call('MGET', floor, nodefloor, counter)
local reserved = tonumber(seen[3] or '0') or 0 -- the newest fence

local most = 9007199254740991 -- 2^53 - 1, the last number before which all are exact

-- admit refuses a request that was overtaken, and notes that the node is awake.
local function admit(numbered)
  local seen_inc, seen_seq = string.match(seen[1] or '0 0', '^(%d+) (%d+)$')
  local node_inc = tonumber(string.match(seen[2] or '0', '^%d+'))
  if tonumber(inc) < math.max(tonumber(seen_inc), node_inc)
    or (numbered and inc == seen_inc and tonumber(seq) < tonumber(seen_seq)) then
    return false
  end
  if numbered then
    redis.call('SET', floor, inc .. ' ' .. seq, 'PX', remember)
  end
  if nodefloor ~= floor and node_inc == tonumber(inc) then
    redis.call('PEXPIRE', nodefloor, remember) -- it may be the floor of a contender: what that has asked stays
  elseif nodefloor ~= floor then
    redis.call('SET', nodefloor, inc .. ' 0', 'PX', remember)
  end
  return true
end

local wary = string.find(guard, '^[!?]') ~= nil

-- server is the id of this run of this server and of its time as a master: when it takes
-- over, also after it has followed another one, it has a new replication id.
local function server()
  local said = redis.pcall('INFO', 'server', 'replication')
  local run = type(said) == 'string' and string.find(said, 'run_id:', 1, true)
  if not run then
    return 'unknown'
  end
  local replication = string.find(said, 'master_replid:', 1, true)
  return string.sub(said, run + 7, run + 46) .. (replication and string.sub(said, replication + 14, replication + 53) or '')
end

-- known: the server has forgotten no grant of the name that may still be held. It has
-- forgotten none at all, or has heard from the name's newest holder since.
local function known()
  if guard == '' then
    return true
  end
  local id = server()
  return string.find(guard, id, 1, true) ~= nil
    or wary and string.match(redis.call('GET', last) or '', ' (%x+)$') == id
end

-- next_fence is above every one before, and above the floors that are given.
local function next_fence(...) return math.max(reserved, us - 1, ...) + 1 end

-- spent: there are no n fences after the newest one, which somebody may have changed.
local function spent(n)
  return seen[3] and not string.match(seen[3], '^%d+$') or next_fence(least) > most + 1 - n
end

-- reserve takes the next n fences and returns the first.
local function reserve(n, ...)
  local f = next_fence(...)
  reserved = f + n - 1
  put(counter, int(reserved))
  return int(f)
end

-- asked is what has to be known of the sender to grant to it.
local function asked()
  return { inc = inc, seq = seq, ttl = ttl, turns = turns, least = least, owner = owner, record = record, mode = mode }
end

-- make makes a new hold for contender c by its entry e, and returns its fence.
local function make(c, e, life, provisional)
  local f = reserve(e.turns, least, e.least)
  redis.call('HSET', lock, e.owner, '1')
  redis.call('PEXPIRE', lock, life)
  redis.call('HSET', state, 'by', c, 'inc', e.inc, 'seq', e.seq, 'fence', f, 'block', f, 'turns', e.turns, 'turn', f,
    'owner', e.owner, 'provisional', provisional, 'record', e.record,
    'described', '0') -- every field, for there may be a state of a lock that somebody deleted
  redis.call('PEXPIRE', state, life)
  return f
end

-- announce tells Redisson that the name is free.
local function announce()
  if publish ~= 'both' then
    redis.call(publish, channel, '0')
  else
    redis.call('PUBLISH', channel, '0')
    redis.call('SPUBLISH', channel, '0')
  end
end

-- free drops the hold. With a delay, a lock of nobody keeps the name from all.
local function free(delay)
  redis.call('DEL', lock, state)
  if delay ~= '0' then
    redis.call('HSET', lock, 'lockgw:delay', '1')
    redis.call('PEXPIRE', lock, delay)
  end
  announce()
end
