package redis

import (
	_ "embed"
	"fmt"
	"strings"
	"time"
)

//go:embed record.lua
var recordLua string

//go:embed there.lua
var thereLua string

//go:embed reserve.lua
var reserveLua string

//go:embed swap.lua
var swapLua string

//go:embed join.lua
var joinLua string

//go:embed prolong.lua
var prolongLua string

func withReserve(lua string) string { return strings.Replace(lua, "--RESERVE--", reserveLua, 1) }

const readsAll = "local reads_all = true\n"

// A full Redis takes no new grant and nobody into a queue. It never keeps anybody from
// giving back.
var (
	joinScript    = newScript("", withReserve(readsAll+recordLua+joinLua+thereLua))
	lookScript    = newScript("allow-oom", readsAll+recordLua, thereLua)
	prolongScript = newScript("allow-oom", prolongLua)
)

// swaps are the scripts that write records.
type swaps struct {
	lua          string
	plain        *script // for what grants nothing
	grant        *script // for what does
	grantIfKnown *script // the same for a server that may not have been asked who it is
}

func newSwaps(tellBy publishing, fenceTTL time.Duration) swaps {
	lua := withReserve(fmt.Sprintf("local reads_all, tell_by, fence_ttl = false, '%s', %d\n", tellBy, fenceTTL.Milliseconds()) + recordLua + swapLua + thereLua)
	return swaps{lua: lua, plain: newScript("allow-oom", lua), grant: newScript("", lua), grantIfKnown: newScript("", ifKnownLua, lua)}
}

// grantBy is grant for one server alone, which has been asked who it is: it is sent by its
// hash, never in full, and a server that was started since, or another one, does not know
// it. Without keys it does nothing but become known.
func (s swaps) grantBy(id string) *script {
	one := newScript("", "-- "+id, "if #KEYS == 0 then return 'known' end", s.lua)
	one.byHash = true
	return one
}

// ifKnownLua has the server that runs it say who it is. The last of ARGV has the ids of
// those that are trusted. It is for keys that are on their way to another server.
const ifKnownLua = `
local trusted, said = table.remove(ARGV), redis.pcall('INFO', 'server', 'replication')
local run = type(said) == 'string' and string.match(said, 'run_id:(%x+)')
local id = run and run .. (string.match(said, 'master_replid:(%x+)') or '') or 'unknown'
if not string.find(trusted, id, 1, true) then
  return { 'strange', id }
end`
