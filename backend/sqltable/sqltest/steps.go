package sqltest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// patience is how long a busy machine may take for what has to come.
const patience = time.Minute

// Step carries out op for the node of the table on what is there now.
func Step(t *testing.T, table ledger.Table, name string, op ledger.Op) (ledger.Reply, error) {
	t.Helper()
	return stepIn(t.Context(), table, name, op)
}

func stepIn(ctx context.Context, table ledger.Table, name string, op ledger.Op) (ledger.Reply, error) {
	seen, err := table.Look(ctx, name)
	if err != nil {
		return ledger.Reply{}, err
	}
	op.Node, op.Turns = table.Node(), 1
	if op.TTL == 0 {
		op.TTL, op.OfferTTL = 30*time.Second, time.Second
	}
	next, effects := ledger.Step(seen.Record, op, 0)
	return table.Swap(ctx, ledger.Swap{Name: name, Base: seen.Version, Record: next, Effects: effects, Absolute: op.Restore})
}

// Settled is Step again and again until the server answers, for as long as it is down or was
// met for the first time.
func Settled(t *testing.T, table ledger.Table, name string, op ledger.Op) (ledger.Reply, error) {
	t.Helper()
	for end := time.Now().Add(patience); ; Pause(t, 20*time.Millisecond) {
		r, err := Step(t, table, name, op)
		var later *backend.Later
		if err == nil || errors.As(err, &later) || time.Now().After(end) {
			return r, err
		}
	}
}

// Pause waits for so long, or until the test ends.
func Pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// Held has the table hold a name, and is the id of the hold.
func Held(t *testing.T, table ledger.Table, name string) backend.Fence {
	t.Helper()
	r, err := Settled(t, table, name, ledger.Op{Want: 1})
	if err != nil || r.Record.Firm(table.Node()) == nil {
		t.Fatalf("not granted: %+v, %v", r, err)
	}
	return r.Record.Firm(table.Node()).ID
}

// ServesOnOne wants that a lease is renewed, and what is asked at the same time is answered,
// although there can be one connection alone.
func ServesOnOne(t *testing.T, table ledger.Table) {
	t.Helper()
	id := Held(t, table, "n")
	errs, err := table.Renew(t.Context(), []ledger.Renewal{{Name: "n", ID: id, TTL: time.Minute}})
	if err = errors.Join(append(errs, err)...); err != nil {
		t.Error(err)
	}
	var asks sync.WaitGroup
	for range 8 {
		asks.Go(func() {
			for range 5 {
				if _, err := table.Look(t.Context(), "n"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	asks.Wait()
}

// RenewsOverOthers wants that a lease is renewed over a connection that was made for requests where no
// other can be made since shut was called, as where the name of the server cannot be looked up, or it lets
// nobody in.
func RenewsOverOthers(t *testing.T, table ledger.Table, shut func()) {
	t.Helper()
	id := Held(t, table, "n")
	shut()
	errs, err := table.Renew(t.Context(), []ledger.Renewal{{Name: "n", ID: id, TTL: time.Minute}})
	if err = errors.Join(append(errs, err)...); err != nil {
		t.Error(err)
	}
}

// Wrong wants that the table cannot be used, and says why in these words, without a password,
// which is geheim.
func Wrong(t *testing.T, table ledger.Table, want string) {
	t.Helper()
	_, err := table.Look(t.Context(), "n")
	if !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
		t.Errorf("err = %v, want %v with %q, without the password", err, backend.ErrRefused, want)
	}
}

// Until asks until Ping says what is wanted; "": that all is well.
func Until(t *testing.T, table ledger.Table, want string) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); Pause(t, 10*time.Millisecond) {
		err = table.Ping(t.Context())
		if want == "" && err == nil || want != "" && err != nil && strings.Contains(err.Error(), want) {
			return
		}
	}
	t.Fatalf("ping = %v, want %q", err, want)
}

// Hears waits until the table is told a message of that kind.
func Hears(t *testing.T, told chan ledger.Addressed, k ledger.Kind) ledger.Addressed {
	t.Helper()
	for end := time.After(patience); ; {
		select {
		case m := <-told:
			if m.Kind == k {
				return m
			}
		case <-end:
			t.Fatalf("kind %d was not heard", k)
		}
	}
}
