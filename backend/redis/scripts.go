package redis

import (
	_ "embed"

	"github.com/lockgw/lockgw/backend/redis/conn"
)

//go:embed head.lua
var head string

//go:embed shares.lua
var sharesLua string

//go:embed common.lua
var commonLua string

// common is what all scripts share but the quick ones.
var common = sharesLua + commonLua

//go:embed acquire_quick.lua
var acquireQuick string

//go:embed acquire.lua
var acquireLua string

//go:embed confirm.lua
var confirmLua string

//go:embed extend.lua
var extendLua string

//go:embed release_quick.lua
var releaseQuick string

//go:embed release.lua
var releaseLua string

//go:embed cancel.lua
var cancelLua string

//go:embed reclaim.lua
var reclaimLua string

//go:embed break.lua
var breakLua string

//go:embed promote.lua
var promoteLua string

//go:embed describe.lua
var describeLua string

//go:embed renew.lua
var renewLua string

//go:embed renew_shares.lua
var renewSharesLua string

//go:embed inspect.lua
var inspectLua string

// A full Redis refuses new grants, and nothing else.
var (
	acquireScript  = newScript("", head, acquireQuick, common, acquireLua)
	confirmScript  = newScript("allow-oom", head, common, confirmLua)
	extendScript   = newScript("allow-oom", head, common, extendLua)
	releaseScript  = newScript("allow-oom", head, releaseQuick, common, releaseLua)
	cancelScript   = newScript("allow-oom", head, common, cancelLua)
	reclaimScript  = newScript("allow-oom", head, common, reclaimLua)
	breakScript    = newScript("allow-oom", head, conn.StrangerLua, common, breakLua)
	promoteScript  = newScript("allow-oom", head, common, promoteLua)
	describeScript = newScript("allow-oom", head, common, describeLua)
	renewScript    = newScript("allow-oom", renewLua)
	renewShares    = newScript("allow-oom", renewSharesLua)
	inspectScript  = newScript("no-writes", conn.StrangerLua, inspectLua)
)
