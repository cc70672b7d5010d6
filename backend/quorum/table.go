// Package quorum has what the tables over etcd and ZooKeeper have in common: stores whose
// members agree on every write, and which have no clock to tell. It knows none of them: how
// the row of a name is, how its holds end, when it may be
// deleted, and that a node listens.
package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
)

// Config of a table.
type Config struct {
	URL string // in the words of a Scheme
	// Password says, for each login to etcd, which one belongs to the user of URL now; nil: that in URL.
	// In ZooKeeper another password is another owner of what is stored.
	Password  func() string
	KeyPrefix string // before every lock name
	Node      backend.Node
	// Lease is the longest lease in use; 0: 30 s. For so long nothing new is granted after the
	// store was restored from an older copy, and a session is to last so long.
	Lease time.Duration
	Log   *slog.Logger // nil: none
}

// Gateway is what a table has of the node that it belongs to, and what runs for that in the
// background.
type Gateway struct {
	Config
	Life context.Context // ends with Stop
	Work sync.WaitGroup

	store string // as backend.Info has it
	end   context.CancelFunc
}

// Init makes it that of a table over a store of that type.
func (g *Gateway) Init(cfg Config, store string) {
	g.Config, g.store = cfg, store
	g.Lease = cmp.Or(cfg.Lease, 30*time.Second)
	g.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	g.Life, g.end = context.WithCancel(context.Background())
}

// Stop ends what runs in the background, and waits for that.
func (g *Gateway) Stop() {
	g.end()
	g.Work.Wait()
}

// Node implements ledger.Table.
func (g *Gateway) Node() string { return g.Config.Node.ID }

// Info implements ledger.Table. Only what was restored from an older copy may have forgotten.
func (g *Gateway) Info() backend.Info {
	return backend.Info{Type: g.store, Fencing: true, Queue: true, Push: true, Shared: true, Modes: true, Restores: true}
}

// Restored is why nothing new is granted for so long: the store, which is called so, was restored
// from an older copy. nil: it is granted.
func Restored(store string, left time.Duration) error {
	if left <= 0 {
		return nil
	}
	return &backend.Later{After: left, Err: fmt.Errorf("%w: %s was restored from an older copy and may have forgotten who holds what; "+
		"by %s all that was held then is released or has run out, and locks are granted again", backend.ErrRefused, store, time.Now().Add(left).UTC().Format(time.RFC3339))}
}

// Unasked is err of what has to come before a request, which was not sent then.
func Unasked(err error) error {
	if err != nil && !errors.Is(err, backend.ErrRefused) {
		return fmt.Errorf("%w: %s", backend.ErrUnreachable, strings.TrimPrefix(err.Error(), backend.ErrUnavailable.Error()+": "))
	}
	return err
}

// Tries is how often a write is sent that others have not spoilt by a write of their own.
const Tries = 5

// Clock is that of this gateway, in microseconds since 1970: the stores have none to tell.
func Clock() int64 { return time.Now().UnixMicro() }

// now is the time of deadlines.
func now() time.Duration { return boottime.Now() }
