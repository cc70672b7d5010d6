-- KEYS 1 lock  2 state  3 queue  4 entries  5 counter  6 last  7 shares  8 ends
-- ARGV 1 how many of several holds to tell  2 "", or while a server may have forgotten
-- grants, the ids of those that are trusted, as in head.lua
local lock, state, queue, entries, counter, last, shares, ends = unpack(KEYS)
local h = redis.call('HMGET', state, 'by', 'fence', 'turn', 'owner', 'record')
local left, waiters = redis.call('PTTL', lock), 0
for _, text in ipairs(redis.call('HVALS', entries)) do
  local n = string.match(text, '^%d+ %d+ %d+ %d+ %d+ %d+ (%d+) ')
  waiters = waiters + math.max(tonumber(n or '0'), n and 1 or 0)
end
local top = redis.call('GET', counter) or '0'
local first = redis.call('ZRANGE', queue, 0, 0)[1] or ''

local function told(foreign, owner, count, node, fence, turn, record, mode, holders, several)
  return { 1, foreign, owner, count, node, fence, turn, top, left, waiters, record or '', mode or 0, holders or 1, '', several or {}, first }
end

local most = tonumber(ARGV[1])

-- among keeps the first shares by fence, in their order.
local function among(firsts, s)
  local at = #firsts + 1
  while at > 1 and firsts[at - 1].fence > s.fence do
    at = at - 1
  end
  if at <= most then
    table.insert(firsts, at, s)
    firsts[most + 1] = nil
  end
end

local function entries_of(s) return tonumber(redis.call('HGET', lock, s.owner .. ':' .. s.field) or '1') end

local function node_of(s) return string.match(s.by, '^[^.]+') end

-- several_hold is what to tell of those who hold the name at once, and of the newest.
local function several_hold(mode)
  local clock = redis.call('TIME')
  local now = string.format('%.0f', math.floor(clock[1] * 1000 + clock[2] / 1000))
  local newest, n, firsts = nil, 0, {}
  local all = redis.call('ZRANGEBYSCORE', ends, '(' .. now, '+inf', 'WITHSCORES')
  for i = 1, #all, 2 do
    local s = { by = all[i], left = math.max(tonumber(all[i + 1]) - now, 1) }
    s.field, s.turn, s.owner, s.record =
      string.match(redis.call('HGET', shares, s.by) or '', '^%d+ %d+ (%d+) %d+ %d+ (%d+) [01] %d+ (%S+) (.*)$')
    if s.field then
      s.fence, n = tonumber(s.field), n + 1
      among(firsts, s)
      if not newest or s.fence > newest.fence then
        newest = s
      end
    end
  end
  if not newest then
    return nil
  end
  local several = {}
  for i, s in ipairs(firsts) do
    several[i] = { s.owner, entries_of(s), node_of(s), s.turn, s.left, s.record }
  end
  left = newest.left
  return told(0, newest.owner, entries_of(newest), node_of(newest), newest.field, newest.turn, newest.record, tonumber(mode), n, several)
end

-- What was reserved and not given, when the last hold of lockgw ended, does not count.
local function only_given()
  local given, then_reserved = string.match(redis.call('GET', last) or '', '^(%d+) (%d+)')
  if then_reserved == top then
    top = given
  end
end

if left ~= -2 then
  if h[1] and redis.pcall('HEXISTS', lock, h[4]) == 1 then
    return told(0, h[4], tonumber(redis.call('HGET', lock, h[4])), string.match(h[1], '^[^.]+'), h[2], h[3], h[5])
  end
  local m = redis.pcall('HGET', lock, 'mode')
  m = type(m) == 'string' and string.match(m, '^lockgw (%-?%d+)$')
  local answer = m and several_hold(m)
  if answer then
    return answer
  end
  if not m then
    only_given()
    local field, count = '', 1
    if redis.call('TYPE', lock).ok == 'hash' then
      field = redis.call('HKEYS', lock)[1]
      count = tonumber(redis.call('HGET', lock, field)) or 1
    end
    local answer = told(1, field, count, '', '0', '0')
    answer[#answer + 1] = stranger(lock) or ''
    return answer
  end
end
only_given()

-- strange is the id of the server, if that would not grant the name; see known.
local function strange()
  if ARGV[2] == '' then
    return ''
  end
  local said = redis.pcall('INFO', 'server', 'replication') -- as server in head.lua
  local run = type(said) == 'string' and string.find(said, 'run_id:', 1, true)
  local replication = run and string.find(said, 'master_replid:', 1, true)
  local id = run and string.sub(said, run + 7, run + 46) .. (replication and string.sub(said, replication + 14, replication + 53) or '') or 'unknown'
  local heard = string.match(redis.call('GET', last) or '', ' (%x+)$') == id
  return (heard or string.find(ARGV[2], id, 1, true)) and '' or id
end

return { 0, 0, '', 0, '', '0', '0', top, 0, waiters, '', 0, 0, strange(), {}, first }
