package redis

import _ "embed"

//go:embed record.lua
var recordLua string

//go:embed swap.lua
var swapLua string

//go:embed join.lua
var joinLua string

//go:embed prolong.lua
var prolongLua string

// A full Redis takes no new grant and nobody into a queue. It never keeps anybody from
// giving back.
var (
	swapScript    = newScript("allow-oom", recordLua, swapLua)
	grantScript   = newScript("", recordLua, swapLua)
	joinScript    = newScript("", recordLua, joinLua)
	lookScript    = newScript("allow-oom", recordLua, "return there()")
	prolongScript = newScript("allow-oom", prolongLua)
)

// newGrantScript is grantScript for one server alone, which has been asked who it is: it
// is sent by its hash, never in full, and a server that was started since, or another one,
// does not know it. Without keys it does nothing but become known.
func newGrantScript(id string) *script {
	s := newScript("", "-- "+id, "if #KEYS == 0 then return 'known' end", recordLua, swapLua)
	s.byHash = true
	return s
}

// grantCheckedScript asks the server that runs it who it is. It is for keys that are being
// moved to a server which may not have been asked yet. The last of ARGV has the ids of
// those that are trusted.
var grantCheckedScript = newScript("", `
local trusted, said = table.remove(ARGV), redis.pcall('INFO', 'server', 'replication')
local run = type(said) == 'string' and string.match(said, 'run_id:(%x+)')
local id = run and run .. (string.match(said, 'master_replid:(%x+)') or '') or 'unknown'
if not string.find(trusted, id, 1, true) then
  return { 'strange', id }
end`, recordLua, swapLua)
