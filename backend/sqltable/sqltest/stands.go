package sqltest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Hangs wants that nobody is told of a server that hangs that it has refused something, which
// would be an answer for the breaker: neither who finds all connections in use, nor who is the
// first to ask it, or waits for that one.
func Hangs(t *testing.T, store Store) {
	t.Parallel()
	s := store.Start(t)
	met, fresh := store.Open(t, s.URL()+"&pool_max_conns=1", "a", Guard{On: true}), store.Open(t, s.URL(), "b", Guard{On: true})
	Held(t, met, "n")
	s.Pause()
	defer s.Resume()
	var wg sync.WaitGroup
	for _, table := range []ledger.Table{met, fresh} {
		for i := range 4 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				next, effects := ledger.Step(ledger.Record{}, ledger.Op{Node: table.Node(), Want: 1, Turns: 1, TTL: 30 * time.Second}, 0)
				_, err := table.Swap(ctx, ledger.Swap{Name: fmt.Sprint("m", i), Record: next, Effects: effects})
				if !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, backend.ErrUnreachable) {
					t.Errorf("node %s: %v", table.Node(), err)
				}
			})
		}
	}
	wg.Wait()
}

// StandsStill wants of a table that it notices that its server stands still, and that it goes
// on.
func StandsStill(t *testing.T, table ledger.Table, server Server) {
	t.Helper()
	id := Held(t, table, "n")
	server.Pause()
	defer server.Resume()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := table.Swap(ctx, ledger.Swap{Name: "m", Record: ledger.Record{Top: 1}, Absolute: true})
	if !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, backend.ErrRefused) || time.Since(began) > patience/2 {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	server.Resume()
	for end := time.Now().Add(patience); ; Pause(t, 20*time.Millisecond) {
		errs, err := table.Renew(t.Context(), []ledger.Renewal{{Name: "n", ID: id, TTL: time.Minute}})
		if err == nil && errs[0] == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(errs, err)
		}
	}
}
