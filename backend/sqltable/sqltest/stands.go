package sqltest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// StandsStill wants of a table that it notices that its server stands still, and that it goes
// on.
func StandsStill(t *testing.T, table ledger.Table, server interface {
	Pause()
	Resume()
}) {
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
