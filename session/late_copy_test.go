package session_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session"
)

// tardy is a store that gets the first acquire a second late, when its sender has
// been told that the connection is gone.
type tardy struct {
	ledger.Table
	seen atomic.Bool
	wg   sync.WaitGroup
}

func (d *tardy) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	if d.seen.Swap(true) {
		return d.Table.Swap(ctx, s)
	}
	d.wg.Go(func() {
		time.Sleep(time.Second)
		_, _ = d.Table.Swap(context.WithoutCancel(ctx), s) // nobody hears the answer
	})
	return ledger.Reply{}, errLost
}

// Histories of real gateways have shown a permit that nobody held for all of its
// lease: the acquire arrived twice, the second sending found the name taken, its
// caller was refused, and the first, which arrived after that, was granted.
func TestLateCopyOfARefusedAcquire(t *testing.T) {
	tests := []struct {
		name          string
		held, refused session.Acquire
		code          session.Code
	}{
		{"exclusive", session.Acquire{}, session.Acquire{}, session.CodeLocked},
		{"shared", session.Acquire{}, session.Acquire{Shared: true}, session.CodeLocked},
		{"semaphore", session.Acquire{Limit: 1}, session.Acquire{Limit: 1}, session.CodeLocked},
		{"conflict", session.Acquire{Limit: 1}, session.Acquire{Wait: time.Minute}, session.CodeConflict},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var d *tardy
				c := newCluster(t, 2, session.Config{}, func(i int, b ledger.Table) ledger.Table {
					if i > 0 {
						return b
					}
					d = &tardy{Table: b}
					return d
				})
				holder := c.open(1)
				mustAcquire(t, holder, "x", tt.held)
				_, err := c.open(0).Acquire(t.Context(), "x", tt.refused)
				wantCode(t, err, tt.code)
				mustRelease(t, holder, "x")
				d.wg.Wait()
				if st, err := c.nodes[1].Inspect(t.Context(), "x"); err != nil || st.State != session.StateFree {
					t.Errorf("status = %+v, %v, want that nobody has it", st, err)
				}
			})
		})
	}
}
