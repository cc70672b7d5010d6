-- KEYS, ARGV: see head.lua. Every answer begins with run id and uptime of this node,
-- by which the sender sees whether it may have forgotten something.
local info = redis.call('INFO', 'server')
local run, up = string.match(info, 'run_id:(%w+)'), tonumber(string.match(info, 'uptime_in_seconds:(%d+)'))
if not admit(true) then
  return { 'stale', run, up }
end
local h, before = hold(), given
if mine(h) then
  local repeated = h.seq == attempt and h.inc == inc
  if repeated and not (force and tonumber(h.fence) < tonumber(ballot)) then
    prolong()
    redis.call('HDEL', waits, me)
    return { 'granted', run, up, h.fence, h.block, h.turns, others() }
  end
  before = repeated and tonumber(h.before) or math.max(h.turn, h.fence)
elseif taken() then
  if wants_queue then
    mark()
    if h then
      redis.call('PUBLISH', channel_of(h.by, h.inc), 'o ' .. slot_of(h.by) .. ' ' .. name)
    end
  end
  local left = redis.call('PTTL', lock)
  if h then
    return { 'held', run, up, left, 0, h.owner, node_of(h.by), h.fence, h.turn, h.record }
  end
  local field = ''
  if redis.call('TYPE', lock).ok == 'hash' then
    field = redis.call('HKEYS', lock)[1]
  end
  return { 'held', run, up, left, 1, field, '', '0', '0', '' }
end
if tonumber(ballot) <= reserved then
  return { 'floor', run, up, int(reserved) }
end
make(ballot, ballot, before, '0')
redis.call('HDEL', waits, me)
return { 'granted', run, up, ballot, ballot, turns, others() }
