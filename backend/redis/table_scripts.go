package redis

import (
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend/redis/requests"
	"github.com/lockgw/lockgw/backend/redis/servers"
)

//go:embed record.lua
var recordLua string

// strangerLua tells what a lock of a program without lockgw is from another.
//
//go:embed stranger.lua
var strangerLua string

//go:embed there.lua
var thereAloneLua string

var thereLua = strings.Replace(thereAloneLua, "--STRANGER--", strangerLua, 1)

//go:embed evict.lua
var evictLua string

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
	joinScript = requests.NewScript("", withReserve(readsAll+recordLua+joinLua+thereLua))
	lookScript = requests.NewScript("allow-oom", readsAll+recordLua, thereLua)
)

// swaps are the scripts that write records, and the one that renews.
type swaps struct {
	lua          string
	prolong      *requests.Script
	plain        *requests.Script // for what grants nothing
	evict        *requests.Script // for what ends the lock of a program outside lockgw
	grant        *requests.Script // for what does
	grantIfKnown *requests.Script // the same for a server that may not have been asked who it is
}

func newSwaps(tellBy servers.Publishing, fenceTTL time.Duration) swaps {
	head := fmt.Sprintf("local reads_all, tell_by, fence_ttl, evict = false, '%s', %d, false\n", tellBy, fenceTTL.Milliseconds()) + recordLua
	rest := withReserve(swapLua + thereLua)
	lua := head + rest
	return swaps{
		prolong: requests.NewScript("allow-oom", fmt.Sprintf("local fence_ttl = %d\n", fenceTTL.Milliseconds()), prolongLua),
		lua:     lua, plain: requests.NewScript("allow-oom", lua), grant: requests.NewScript("", lua), grantIfKnown: requests.NewScript("", ifKnownLua, lua),
		evict: requests.NewScript("allow-oom", head, strangerLua, evictLua, rest),
	}
}

// grantBy is grant for one server alone, which has been asked who it is: it is sent by its
// hash, never in full, and a server that was started since, or another one, does not know
// it. Without keys it does nothing but become known.
func (s swaps) grantBy(id, flags string) *requests.Script {
	return requests.NewScriptByHash(flags, "-- "+id, "if #KEYS == 0 then return 'known' end", s.lua)
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
