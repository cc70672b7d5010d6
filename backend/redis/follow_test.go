package redis

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// follower is a Table behind locks of a Java program, and what it is told.
func follower(t *testing.T, names ...string) (*Table, *redistest.Server, func(name string)) {
	t.Helper()
	s := redistest.Start(t)
	for _, name := range names {
		if err := s.Client().HSet(t.Context(), name, "7c8a1f3e-1111-4222-8333-444455556666:52", 1).Err(); err != nil {
			t.Fatal(err)
		}
	}
	table, err := OpenTable(Config{URL: redistest.Patient(s.URL()), Node: backend.Node{ID: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	told := make(chan ledger.Addressed, 1000)
	table.Listen(func(m ledger.Addressed) { told <- m })
	hears := func(name string) {
		t.Helper()
		for limit := time.After(20 * time.Second); ; {
			select {
			case m := <-told:
				if m.Name == name {
					return
				}
			case <-limit:
				t.Fatalf("nothing is told about %q", name)
			}
		}
	}
	hears("") // the Resync
	return table, s, hears
}

func joins(t *testing.T, table *Table, name string) {
	t.Helper()
	r, err := table.Join(t.Context(), name, ledger.Entry{Node: "a", Want: 1}, 0)
	if err != nil || r.Record.Entry("a") == nil {
		t.Fatalf("join %s: %+v, %v", name, r, err)
	}
}

// An answer that was given before, and is read later, does not end that a gateway listens
// for the release of a program outside lockgw.
func TestFollowByTheNewestAnswer(t *testing.T) {
	t.Parallel()
	table, s, hears := follower(t, "x")
	before, err := table.Look(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	joins(t, table, "x")
	hears("x") // the subscription stands
	table.follow(t.Context(), "x", &before)
	time.Sleep(50 * time.Millisecond) // in which it might cease to listen
	s.Client().Publish(t.Context(), channelOf("x"), "0")
	hears("x")
}

// Redisson tells of a release of x and of {x} on one channel. Who waits for both is told of
// both.
func TestFollowNamesOfOneChannel(t *testing.T) {
	t.Parallel()
	table, s, hears := follower(t, "x", "{x}")
	for _, name := range []string{"x", "{x}"} {
		joins(t, table, name)
		hears(name)
	}
	s.Client().Publish(t.Context(), channelOf("x"), "0")
	hears("{x}")
}
