package redlock

import (
	"fmt"
	"maps"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
)

// trial is the newest ballot of a request.
type trial struct {
	seq    uint64
	ballot backend.Fence
	at     time.Duration // by boottime
}

const (
	// trialLife is longer than a request can be under way.
	trialLife = time.Minute
	minTrials = 1000 // as many are not worth a look for old ones
)

// ballot is a fence to propose.
func ballot(r backend.Request) backend.Fence {
	return max(backend.Fence(time.Now().UnixMicro()), r.Floor+1)
}

// spent is an error if the ballot would be no fence any more.
func spent(ballot backend.Fence, r backend.Request) error {
	if ballot+backend.Fence(max(r.Turns, 1))-1 > backend.MaxFence {
		return backend.Spent("a server, or the gateway's journal,", fmt.Sprint(uint64(ballot-1)))
	}
	return nil
}

// propose is a ballot of at least that, above all earlier ones of r: what takes one of
// them back may come late, and must not end what a later one has won. The clock alone
// would not do, for a node's floor may be ahead of it.
func (b *Backend) propose(r backend.Request, least backend.Fence) backend.Fence {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := boottime.Now()
	if len(b.trials) >= b.maxTrials {
		maps.DeleteFunc(b.trials, func(_ place, t trial) bool { return now-t.at > trialLife })
		b.maxTrials = max(2*len(b.trials), minTrials)
	}
	t := trial{r.Seq, max(least, ballot(r)), now}
	if before := b.trials[placeOf(r)]; before.seq == r.Seq {
		t.ballot = max(t.ballot, before.ballot+1)
	}
	b.trials[placeOf(r)] = t
	return t.ballot
}
