package run

import (
	"context"
	"time"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

// sessionOf asks g for what the session holds, with deadlines on the clock of this process. That
// is not the gateway's where one of them is in a time namespace of its own (unshare -T, a container
// that was restored). A deadline that had passed before the question, or is later than what is left
// of the lease, tells so; what is left counts from the question then.
func sessionOf(ctx context.Context, g gateway) (client.SessionInfo, error) {
	asked := session.Boottime()
	info, err := g.Session(ctx)
	now := session.Boottime()
	for i, v := range info.Holds {
		if v.Deadline <= asked || v.Deadline > now+v.Left+time.Millisecond { // Left is told in milliseconds
			info.Holds[i].Deadline = asked + v.Left
		}
	}
	return info, err
}
