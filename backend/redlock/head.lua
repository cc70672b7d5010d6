-- What every script about one name begins with. Each node runs it for itself.
--
-- KEYS 1 lock      hash owner -> entries: what Redisson and we lock by
--      2 state     hash: the hold behind it, where it is one of lockgw
--      3 waits     hash contender -> "till seq waiters since inc": who wants to be told of a release
--      4 counter   newest fence that this node has accepted: the floor of ballots
--      5 last      "given counter over": last fence given when a hold ended, newest hold that ended
--      6 floor     "incarnation seq" of the newest request of this contender
--      7 nodefloor the same of its node, for the incarnation; often the same key
-- ARGV 1 contender (node or node.slot)   2 incarnation   3 seq   4 Redisson's channel
--      5 fence ttl ms, 0: for ever   6 name   7 hold   8 ballot, or the block of a hold   9 turns
--      10 known: newest fence that the sender knows to be its own   11 attempt   12 owner
--      13 count   14 ttl ms   15 queue 0|1   16 waiters   17 turn   18 delay ms   19 record
--      20 force 0|1
--
-- Numbers that are only passed on or compared for equality stay the text they came as.
local lock, state, waits, counter, last, floor, nodefloor = unpack(KEYS)
local me, inc, seq, channel, fence_ttl, name = unpack(ARGV, 1, 6)
local the_hold, ballot, turns, known, attempt, owner = unpack(ARGV, 7, 12)
local count, ttl, wants_queue, waiters, turn = ARGV[13], ARGV[14], ARGV[15] == '1', ARGV[16], ARGV[17]
local delay, record, force = ARGV[18], ARGV[19], ARGV[20] == '1'
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

local reserved = tonumber(redis.call('GET', counter) or '0') or 0

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

-- admit refuses a request that was overtaken.
local function admit(numbered)
  local seen_inc, seen_seq = string.match(redis.call('GET', floor) or '0 0', '^(%d+) (%d+)$')
  local node_inc = tonumber(string.match(redis.call('GET', nodefloor) or '0', '^%d+'))
  if tonumber(inc) < math.max(tonumber(seen_inc), node_inc)
    or (numbered and inc == seen_inc and tonumber(seq) < tonumber(seen_seq)) then
    return false
  end
  if numbered then
    redis.call('SET', floor, inc .. ' ' .. seq, 'PX', remember)
  end
  if nodefloor ~= floor then
    redis.call('SET', nodefloor, inc .. ' 0', 'PX', remember)
  end
  return true
end

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

local function mine(h) return h and h.by == me end

-- others: another contender has asked to be told.
local function others()
  local all = redis.call('HGETALL', waits)
  for i = 1, #all, 2 do
    if all[i] ~= me and tonumber(string.match(all[i + 1], '^%d+')) > ms then
      return 1
    end
  end
  return 0
end

-- mark notes that the sender wants to be told when the name is free. Who is noted
-- already keeps the place. The mark ends by itself if its node never asks again.
local function mark()
  local since = string.match(redis.call('HGET', waits, me) or '', '^%d+ %d+ %d+ (%d+) ') or int(ms)
  local life = ttl + slack
  redis.call('HSET', waits, me, table.concat({ int(ms + life), seq, waiters, since, inc }, ' '))
  if redis.call('PTTL', waits) < life then
    redis.call('PEXPIRE', waits, int(life))
  end
end

-- prolong has the hold last for ttl from now on, or longer if it did already: a
-- late repeat must not undo what a later request has set.
local function prolong()
  if redis.call('PTTL', lock) < tonumber(ttl) then
    redis.call('PEXPIRE', lock, ttl)
    redis.call('PEXPIRE', state, ttl)
  end
end

-- make writes the hold that begins with fence and has the block of turns fences.
local function make(fence, block, before, described)
  redis.call('DEL', lock, state)
  redis.call('HSET', lock, owner, count)
  redis.call('PEXPIRE', lock, ttl)
  redis.call('HSET', state, 'by', me, 'inc', inc, 'seq', attempt, 'fence', fence, 'block', block, 'turns', turns,
    'turn', turn, 'owner', owner, 'before', int(before), 'record', record, 'described', described)
  redis.call('PEXPIRE', state, ttl)
  reserved = math.max(reserved, block + turns - 1)
  put(counter, int(reserved))
end

-- describe writes whose turn it is under the hold h.
local function describe(h)
  redis.call('HSET', lock, owner, count)
  if h.owner ~= owner then -- not before: without a field the key would be gone, and its expiry
    redis.call('HDEL', lock, h.owner)
  end
  redis.call('HSET', state, 'owner', owner, 'turn', turn, 'record', record, 'described', seq)
end

-- bury notes that the hold beginning with fence is over, so that no late request
-- brings it back, and that newest is the last fence given. A ballot that has failed
-- was never a hold: it only becomes the floor, and an older hold may be set again.
local function bury(fence, newest, failed)
  if fence > reserved then
    reserved = fence
    put(counter, int(reserved))
  end
  if not failed then
    over = math.max(over, fence)
  end
  put(last, int(newest) .. ' ' .. int(reserved) .. ' ' .. int(over))
end

-- tell lets those know who asked to be told, in the order in which they came: the
-- first one at once, the second after a while, for the first may not take it. Whom
-- nobody listens for is passed over, and asks again when it is back.
local function tell(fence)
  local list, all = {}, redis.call('HGETALL', waits)
  for i = 1, #all, 2 do
    local till, since, by_inc = string.match(all[i + 1], '^(%d+) %d+ %d+ (%d+) (%d+)$')
    if till and tonumber(till) > ms then
      list[#list + 1] = { by = all[i], since = tonumber(since), inc = by_inc }
    end
  end
  table.sort(list, function(a, b) return a.since < b.since or (a.since == b.since and a.by < b.by) end)
  local word = 'f '
  for _, w in ipairs(list) do
    if redis.call('PUBLISH', channel_of(w.by, w.inc), word .. fence .. ' ' .. slot_of(w.by) .. ' ' .. name) == 0 then
      redis.call('HDEL', waits, w.by)
    elseif word == 'w ' then
      return
    else
      word = 'w '
    end
  end
end

-- free drops the hold. With a delay, a lock of nobody keeps the name from all.
local function free(fence)
  redis.call('DEL', lock, state)
  if delay ~= '0' then
    redis.call('HSET', lock, 'lockgw:delay', '1')
    redis.call('PEXPIRE', lock, delay)
  end
  redis.call('PUBLISH', channel, '0')
  tell(fence)
end
