-- What every script about the record of one name begins with. reads_all, which stands before
-- this, says whether it needs more than the first line as a rule.
--
-- KEYS 1 record   2 lock, what programs outside lockgw see   3 Redisson's fence counter
--      4 mark of the slot: "clock top", see reserve.lua
--
-- A record is a line of text, then JSON, then a line of JSON for each node that has
-- joined the queue since. The first line has the version, the fence up to which the mark
-- need not be looked at, a time that the record outlives by a minute, the lock that there
-- has to be, and "id=end" for each hold ("id?end": an offer). Of the lock it has "@" and
-- its field, or "~" and one of several fields, behind their length, or nothing behind 0.
-- Times are in ms.
--
-- Numbers are doubles here: a fence is printed by %.0f, or it would lose its end. Redis prints
-- a number that is an argument digit by digit and takes longer for that than for the command,
-- and Lua hashes each byte of a string that it makes: so constants are strings, and no more is
-- read than is needed.
local record, lock, counter = KEYS[1], KEYS[2], KEYS[3]
local call, find, sub, format = redis.call, string.find, string.sub, string.format
local minute = 60000

local h, whole = '', true
if reads_all then
  h = call('GET', record) or ''
else
  h = call('GETRANGE', record, '0', '255')
  whole = #h < 256
end
local cut, was, kind
local from = 58 -- the ends stand behind it
if h ~= '' then
  cut = find(h, '\n', 54, true)
  if not cut then
    h, whole = call('GET', record), true
    cut = find(h, '\n', 54, true)
    if not cut then
      return redis.error_reply('NORECORD the key ' .. record .. ' has something that is no record of lockgw')
    end
  end
  local n = sub(h, 55, 57)
  if n ~= '000' then
    kind, was = sub(h, 59, 59), sub(h, 60, 58 + n)
    from = 59 + n
  end
end
local clock -- once it was looked at: seconds, microseconds
local raise -- what Redisson's counter has, once it was looked at
