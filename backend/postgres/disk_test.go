package postgres

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
	"github.com/lockgw/lockgw/backend/servertest"
)

// While the disk of the database is full, nothing new is granted, and it says why; nothing that
// was granted is granted again, neither then nor when there is room again.
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	s := pgtest.StartWith(t, func(dir string) { servertest.SmallDisk(t, dir, "96m") }, "max_wal_size=4MB", "min_wal_size=2MB")
	a, b := open(t, s.URL(), "a", guarded), open(t, s.URL(), "b", guarded)
	const forLong = time.Hour
	take := func(table *Table, name string) error {
		r, err := step(t, table, name, ledger.Op{Want: 1, TTL: forLong, OfferTTL: time.Second})
		if err == nil && r.Record.Firm(table.Node()) == nil {
			err = backend.ErrRefused
		}
		return err
	}
	granted := []string{"before"}
	if err := take(a, "before"); err != nil {
		t.Fatal(err)
	}
	free := servertest.Fill(t, s.Dir(), 64<<10)
	about := strings.Repeat("x", 200) // so that it does not take long
	var full error
	for i := 0; full == nil && i < 10_000; i++ {
		name := fmt.Sprintf("n-%d-%s", i, about)
		if full = take(a, name); full == nil {
			granted = append(granted, name)
		}
	}
	if !errors.Is(full, backend.ErrRefused) || !strings.Contains(full.Error(), "disk") {
		t.Errorf("with a full disk the error is %v, want one that tells of it", full)
	}
	// There is room in the log yet: what is held is renewed and given back, until that is full,
	// too, and the server breaks down.
	last := granted[len(granted)-1]
	granted = granted[:len(granted)-1]
	if _, err := step(t, a, last, ledger.Op{Verb: ledger.Leave}); err != nil {
		t.Errorf("nobody may leave: %v", err)
	}
	r, err := a.Look(t.Context(), "before")
	if err != nil {
		t.Fatal(err)
	}
	lives := ledger.Renewal{Name: "before", ID: r.Record.Firm("a").ID, TTL: forLong}
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
	for end := time.Now().Add(time.Minute); ; pause(t, 50*time.Millisecond) {
		for _, name := range granted {
			if r, err := step(t, b, name, ledger.Op{Want: 1, TTL: time.Second, OfferTTL: time.Second}); err == nil && r.Record.Firm("b") != nil {
				t.Fatalf("%s is held, and was granted again", name)
			}
		}
		err := take(b, "after")
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("nothing is granted although there is room: %v", err)
		}
	}
	if errs, err := a.Renew(t.Context(), []ledger.Renewal{lives}); err != nil || errs[0] != nil {
		t.Errorf("what was held is lost: %v, %v", errs, err)
	}
}
