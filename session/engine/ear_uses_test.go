package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
)

// renews wants that what the table holds is renewed, although no connection can be made for that.
func renews(t *testing.T, table ledger.Table, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := table.Look(ctx, name)
	if err != nil || r.Record.Firm(table.Node()) == nil {
		t.Fatalf("%s is not held: %+v, %v", name, r, err)
	}
	errs, err := table.Renew(ctx, []ledger.Renewal{{Name: name, ID: r.Record.Firm(table.Node()).ID, TTL: 30 * time.Second}})
	if err = errors.Join(append(errs, err)...); err != nil {
		t.Errorf("what is held is not renewed: %v", err)
	}
}

// uses has callers of g hold the name, one after the other, until ctx ends.
func (g *gateway) uses(ctx context.Context, name string) {
	for ctx.Err() == nil {
		w := &contender.Caller{Owner: "user", TTL: 30 * time.Second}
		wake := make(chan bool, 1)
		g.mu.Lock()
		g.wakes[w] = wake
		g.mu.Unlock()
		n, errand, err := g.Enter(name, w)
		if err != nil {
			return
		}
		errand.Do(context.Background())
		select {
		case <-wake:
		case <-ctx.Done():
		}
		n.Accept(w)
		backend.Wait(ctx, 5*time.Millisecond)
		n.Release(w).Do(context.Background())
	}
}
