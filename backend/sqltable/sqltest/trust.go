package sqltest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Lease is how long quarantines last in tests: longer than what a busy machine does meanwhile.
const Lease = 4 * time.Second

// Refuses wants of a table in quarantine that nothing is granted, and everybody is told why and
// for how long; that what gives back a hold goes on, and what takes back lives, which is that
// of n; and that in the end names are granted again.
func Refuses(t *testing.T, table ledger.Table, lives backend.Fence) {
	t.Helper()
	RefusesSince(t, time.Now(), table, lives)
}

// RefusesSince is Refuses of a quarantine that may have begun at that moment already.
func RefusesSince(t *testing.T, began time.Time, table ledger.Table, lives backend.Fence) {
	t.Helper()
	_, err := Settled(t, table, "other", ledger.Op{Want: 1})
	var later *backend.Later
	if !errors.As(err, &later) || !errors.Is(err, backend.ErrRefused) || later.After > Lease || !strings.Contains(err.Error(), "may have forgotten") {
		t.Fatalf("granted by a server that may have forgotten: %v", err)
	}
	if r, err := table.Look(t.Context(), "other"); err != nil || !strings.Contains(r.Refusing, "may have forgotten") {
		t.Errorf("look = %+v, %v, want why nothing is granted", r, err)
	}
	if err := table.Ping(t.Context()); !errors.As(err, &later) || !errors.Is(err, backend.ErrPartly) {
		t.Errorf("ping = %v, want a time and %v", err, backend.ErrPartly)
	}
	r, err := Settled(t, table, "n", ledger.Op{Verb: ledger.Reclaim, Hold: lives, Keep: 1, Restore: true, Floor: lives + 64})
	if err != nil || r.Record.Firm(table.Node()) == nil || r.Record.Firm(table.Node()).ID != lives {
		t.Errorf("a hold that lives on is not taken back: %+v, %v", r, err)
	}
	if _, err := Settled(t, table, "other", ledger.Op{Verb: ledger.Leave}); err != nil {
		t.Errorf("nobody may leave: %v", err)
	}
	Granted(t, table, "other")
	if d := time.Since(began); d < Lease-time.Second {
		t.Errorf("granted again after %v already, want about %v", d, Lease)
	}
}

// Granted is the hold of a name, which is asked for until there is no quarantine any more.
func Granted(t *testing.T, table ledger.Table, name string) backend.Fence {
	t.Helper()
	for end := time.Now().Add(patience); ; Pause(t, 50*time.Millisecond) {
		r, err := Settled(t, table, name, ledger.Op{Want: 1})
		if h := r.Record.Firm(table.Node()); err == nil && h != nil {
			return h.ID
		}
		if time.Now().After(end) {
			t.Fatalf("%s is not granted in %v: %+v, %v", name, patience, r, err)
		}
	}
}
