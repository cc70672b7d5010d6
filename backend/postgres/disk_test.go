package postgres

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
	"github.com/lockgw/lockgw/backend/servertest"
	"github.com/lockgw/lockgw/backend/sqltable/sqltest"
)

// While the disk of the database is full, nothing new is granted, and it says why; nothing that
// was granted is granted again, neither then nor when there is room again.
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	s := pgtest.StartWith(t, func(dir string) { servertest.SmallDisk(t, dir, "96m") }, "max_wal_size=4MB", "min_wal_size=2MB")
	a, b := open(t, s.URL(), "a", guarded), open(t, s.URL(), "b", guarded)
	if err := sqltest.Take(t, a, "before"); err != nil {
		t.Fatal(err)
	}
	r, err := a.Look(t.Context(), "before")
	if err != nil {
		t.Fatal(err)
	}
	lives := ledger.Renewal{Name: "before", ID: r.Record.Firm("a").ID, TTL: sqltest.ForLong}
	free := servertest.Fill(t, s.Dir(), 64<<10)
	granted, full := sqltest.TakeMost(t, a)
	if !errors.Is(full, backend.ErrRefused) || !strings.Contains(full.Error(), "disk") {
		t.Errorf("with a full disk the error is %v, want one that tells of it", full)
	}
	// There is room in the log yet: what is held is renewed and given back, until that is full,
	// too, and the server breaks down.
	last := granted[len(granted)-1]
	granted = granted[:len(granted)-1]
	if _, err := sqltest.Step(t, a, last, ledger.Op{Verb: ledger.Leave}); err != nil {
		t.Errorf("nobody may leave: %v", err)
	}
	var broken error
	for n := 0; broken == nil && n < 100_000; n++ {
		var errs []error
		if errs, broken = a.Renew(t.Context(), []ledger.Renewal{lives}); broken == nil {
			broken = errs[0]
		}
	}
	if !errors.Is(broken, backend.ErrUnavailable) {
		t.Errorf("renewing until the log is full: %v, want %v", broken, backend.ErrUnavailable)
	}
	free()
	s.Revive()
	sqltest.Recovers(t, b, append(granted, "before"), time.Now().Add(time.Minute))
	if errs, err := a.Renew(t.Context(), []ledger.Renewal{lives}); err != nil || errs[0] != nil {
		t.Errorf("what was held is lost: %v, %v", errs, err)
	}
}
