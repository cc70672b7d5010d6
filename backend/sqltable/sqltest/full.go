package sqltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// ForLong is a lease that lasts for the test.
const ForLong = time.Hour

// Take has the table hold a name for long; it waits two seconds for the server. A name that
// somebody else has is a backend.ErrRefused.
func Take(t *testing.T, table ledger.Table, name string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	r, err := stepIn(ctx, table, name, ledger.Op{Want: 1, TTL: ForLong, OfferTTL: time.Second})
	if err == nil && r.Record.Firm(table.Node()) == nil {
		err = fmt.Errorf("%w: somebody else has it", backend.ErrRefused)
	}
	return err
}

// GiveBack has the table give back a name; it waits two seconds for the server.
func GiveBack(t *testing.T, table ledger.Table, name string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := stepIn(ctx, table, name, ledger.Op{Verb: ledger.Leave})
	return err
}

// TakeMost takes names until one is refused, as where the disk is full. One for which there was
// no answer in time, as of a busy server, is left out.
func TakeMost(t *testing.T, table ledger.Table) (granted []string, err error) {
	t.Helper()
	about := strings.Repeat("x", 200) // so that it does not take long
	for i, end := 0, time.Now().Add(patience); time.Now().Before(end); i++ {
		name := fmt.Sprintf("n-%d-%s", i, about)
		switch err := Take(t, table, name); {
		case err == nil:
			granted = append(granted, name)
		case !errors.Is(err, backend.ErrUnavailable):
			return granted, err
		}
	}
	t.Fatal("the disk does not become full")
	return nil, nil
}

// Recovers wants that names are granted again before end, but none that somebody has.
func Recovers(t *testing.T, table ledger.Table, granted []string, end time.Time) {
	t.Helper()
	for ; ; Pause(t, 50*time.Millisecond) {
		for _, name := range granted {
			if err := Take(t, table, name); err == nil {
				t.Fatalf("%s is held, and was granted again", name)
			}
		}
		err := Take(t, table, "after")
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("nothing is granted although there is room: %v", err)
		}
	}
}
