-- KEYS, ARGV: see head.lua. Every answer begins with run id and uptime of this node,
-- by which the sender sees whether it may have forgotten something.
local info = redis.call('INFO', 'server')
local run, up = string.match(info, 'run_id:(%w+)'), tonumber(string.match(info, 'uptime_in_seconds:(%d+)'))
if not admit(true) then
  return { 'stale', run, up }
end
local h, before = held_by(me), given
if h then
  local repeated = h.seq == attempt and h.inc == inc
  if repeated and not (force and tonumber(h.fence) < tonumber(ballot)) then
    prolong(h)
    redis.call('HDEL', waits, me)
    return { 'granted', run, up, h.fence, h.block, h.turns, others(), h.permit or '-' }
  end
  before = repeated and tonumber(h.before) or math.max(h.turn, h.fence)
end
local why = blocked(h)
if why == 'conflict' then
  redis.call('HDEL', waits, me)
  return { why, run, up }
end
if why then
  local other, left = hold(), redis.call('PTTL', lock)
  if wants_queue then
    mark()
    if other then
      redis.call('PUBLISH', channel_of(other.by, other.inc), 'o ' .. slot_of(other.by) .. ' ' .. name)
    end
  end
  local m, free = several(), ''
  if m then
    other = late_share()
    if tonumber(mode) > 0 then
      left, free = math.max(redis.call('ZRANGE', ends, 0, 0, 'WITHSCORES')[2] - ms, 1), free_permits()
    end
  end
  if other then
    return { why, run, up, left, 0, other.owner, node_of(other.by), other.fence, other.turn, other.record,
      m or '0', redis.call('ZCARD', ends), free }
  end
  local field = ''
  if redis.call('TYPE', lock).ok == 'hash' then
    field = redis.call('HKEYS', lock)[1]
  end
  return { why, run, up, left, 1, field, '', '0', '0', '', '0', 1, '' }
end
if type(count_text) ~= 'string' or not string.match(count_text, '^%d+$') or reserved + turns > 9007199254740991 then
  return { 'spent', run, up, counter, type(count_text) == 'string' and count_text or redis.call('TYPE', counter).ok }
end
if tonumber(ballot) <= reserved then
  return { 'floor', run, up, int(reserved) }
end
if h and h.share then
  drop_share(me)
  fit()
end
if mode == '0' or h and not h.share then
  redis.call('DEL', lock, state, shares, ends)
end
make(ballot, ballot, before, '0')
redis.call('HDEL', waits, me)
if unbarred and several() or room() then
  tell(0) -- of two permits that were free at once, the same waiter was told
end
return { 'granted', run, up, ballot, ballot, turns, others(), permit }
