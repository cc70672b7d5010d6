package voting_test

import (
	"context"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/backend/redlock/voting"
)

// skewed is a server whose clock is ahead, and which is away at times.
type skewed struct {
	ledger.Table
	ahead *time.Duration
	away  *bool
}

func (s skewed) clock() int64 { return time.Now().Add(*s.ahead).UnixMicro() }

func (s skewed) tell(r ledger.Reply, err error) (ledger.Reply, error) {
	r.Clock = s.clock()
	return r, err
}

func (s skewed) Look(ctx context.Context, name string) (ledger.Reply, error) {
	if *s.away {
		return ledger.Reply{}, backend.ErrUnreachable
	}
	return s.tell(s.Table.Look(ctx, name))
}

func (s skewed) Swap(ctx context.Context, w ledger.Swap) (ledger.Reply, error) {
	if *s.away {
		return ledger.Reply{}, backend.ErrUnreachable
	}
	w.Floor = max(w.Floor, backend.Fence(s.clock()))
	return s.tell(s.Table.Swap(ctx, w))
}

// A name that all servers have forgotten begins above the fences of before, whichever majority
// grants it, and whatever the clocks say by then: what no server's clock tells any more, a
// server that was there remembers.
func TestFencesOfForgottenNames(t *testing.T) {
	const far = 10 * time.Minute
	for name, tt := range map[string]struct {
		before, after [3]time.Duration // how far the clocks are ahead
		gone          int              // the server that is away then
	}{
		"the server that was ahead is away":  {[3]time.Duration{far, 0, 0}, [3]time.Duration{far, 0, 0}, 0},
		"the server that was ahead is right": {[3]time.Duration{far, 0, 0}, [3]time.Duration{}, 1},
		"all clocks were set back":           {[3]time.Duration{far, far, far}, [3]time.Duration{}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			all, ahead, away := start(3), tt.before, [3]bool{2: true}
			open := func(node string) *voting.Table {
				return all.open(node, func(i int, t ledger.Table) ledger.Table { return skewed{t, &ahead[i], &away[i]} })
			}
			grant := func(node string) (fence, top backend.Fence) {
				t.Helper()
				table := open(node)
				defer table.Close()
				next, effects := ledger.Step(ledger.Record{}, ledger.Op{Node: node, Want: 1, Turns: 64, TTL: time.Minute}, 0)
				r, err := table.Swap(t.Context(), ledger.Swap{Name: "x", Record: next, Effects: effects})
				if err != nil || !r.Written {
					t.Fatalf("%s is not granted x: %+v, %v", node, r, err)
				}
				return r.Record.Firm(node).ID, r.Record.Top
			}
			_, newest := grant("a")
			for i := range all { // as after a minute
				if all[i] = memory.NewRows(); !away[i] {
					all[i].Raise(newest)
				}
			}
			ahead, away = tt.after, [3]bool{}
			away[tt.gone] = true
			if next, _ := grant("b"); next <= newest {
				t.Errorf("fence %d after %d: back by %v", next, newest, time.Duration(newest-next)*time.Microsecond)
			}
		})
	}
}
