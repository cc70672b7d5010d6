-- What every script about one name begins with. Each node runs it for itself.
--
-- KEYS 1 lock      hash owner -> entries: what Redisson and we lock by
--      2 state     hash: the hold behind it, where it is one of lockgw
--      3 waits     hash contender -> "till seq waiters since inc mode": who wants to be told of a release
--      4 counter   newest fence that this node has accepted: the floor of ballots
--      5 last      "given counter over": last fence given when a hold ended, newest hold that ended
--      6 floor     "incarnation seq over" of this contender: its newest request, and the fence of its newest share that ended
--      7 nodefloor the same of its node, for the incarnation; often the same key
--      8 shares    hash: the holds where several have the name at once, see shares.lua
--      9 ends      zset contender -> when its share ends, ms
-- ARGV 1 contender (node or node.slot)   2 incarnation   3 seq   4 Redisson's channel
--      5 fence ttl ms, 0: for ever   6 name   7 hold   8 ballot, or the block of a hold   9 turns
--      10 known: newest fence that the sender knows to be its own   11 attempt   12 owner
--      13 count   14 ttl ms   15 queue 0|1   16 waiters   17 turn   18 delay ms   19 record
--      20 force 0|1   21 mode: 0 exclusive, -1 shared, n of a semaphore of n   22 permit, of those of a semaphore
--
-- Numbers that are only passed on or compared for equality stay the text they came as.
local lock, state, waits, counter, last, floor, nodefloor, shares, ends = unpack(KEYS)
local me, inc, seq, channel, fence_ttl, name = unpack(ARGV, 1, 6)
local the_hold, ballot, turns, known, attempt, owner = unpack(ARGV, 7, 12)
local count, ttl, wants_queue, waiters, turn = ARGV[13], ARGV[14], ARGV[15] == '1', ARGV[16], ARGV[17]
local delay, record, force, mode, permit = ARGV[18], ARGV[19], ARGV[20] == '1', ARGV[21], ARGV[22]
local remember = '60000' -- ms; longer than a request can be under way
local slack = 5000 -- ms that a mark outlives the moment at which its node asks again

local clock = redis.call('TIME')
local ms = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- Numbers are doubles here: printed otherwise, a fence would lose its end.
local function int(n) return string.format('%.0f', n) end
local function node_of(contender) return string.match(contender, '^[^.]+') end
local function slot_of(contender) return string.match(contender, '%.(.+)$') or '-' end
local function channel_of(contender, incarnation) return 'lockgw:node:' .. node_of(contender) .. ':' .. incarnation end

-- put keeps a value for as long as fences have to be known.
local function put(key, value)
  if fence_ttl ~= '0' then
    redis.call('SET', key, value, 'PX', fence_ttl)
  else
    redis.call('SET', key, value)
  end
end

local count_text = redis.pcall('GET', counter) or '0'
local reserved = tonumber(type(count_text) == 'string' and count_text) or 0

-- ended tells the last fence given, where no hold is, and the newest hold that is
-- over. What was reserved and not given does not count.
local function ended()
  local given, at, over = string.match(redis.call('GET', last) or '', '^(%d+) (%d+) (%d+)$')
  if given and tonumber(at) == reserved then
    return tonumber(given), tonumber(over)
  end
  return reserved, tonumber(over or '0')
end
local given, over = ended()

local seen_inc, seen_seq, share_over = string.match(redis.call('GET', floor) or '0 0 0', '^(%d+) (%d+) ?(%d*)$')
share_over = tonumber(share_over) or 0

-- admit refuses a request that was overtaken.
local function admit(numbered)
  local node_inc = tonumber(string.match(redis.call('GET', nodefloor) or '0', '^%d+'))
  if tonumber(inc) < math.max(tonumber(seen_inc), node_inc)
    or (numbered and inc == seen_inc and tonumber(seq) < tonumber(seen_seq)) then
    return false
  end
  if numbered then
    seen_inc, seen_seq = inc, seq
    redis.call('SET', floor, inc .. ' ' .. seq .. ' ' .. int(share_over), 'PX', remember)
  end
  if nodefloor ~= floor and node_inc == tonumber(inc) then
    redis.call('PEXPIRE', nodefloor, remember) -- it may be the floor of a contender
  elseif nodefloor ~= floor then
    redis.call('SET', nodefloor, inc .. ' 0 0', 'PX', remember)
  end
  return true
end
