// Package quorum has what the tables over etcd and ZooKeeper have in common: stores whose
// members agree on every write, and which have no clock to tell. It knows none of them: how
// their addresses are written, how the row of a name is, how its holds end, when it may be
// deleted, and that a node listens.
package quorum

import (
	"time"

	"github.com/lockgw/lockgw/backend/boottime"
)

// Clock is that of this gateway, in microseconds since 1970: the stores have none to tell.
func Clock() int64 { return time.Now().UnixMicro() }

// now is the time of deadlines.
func now() time.Duration { return boottime.Now() }
