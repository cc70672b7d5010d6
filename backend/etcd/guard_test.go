package etcd

import (
	"errors"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/etcd/etcdtest"
	"github.com/lockgw/lockgw/backend/ledger"
)

// What was granted after a copy was made is forgotten when that is put in place: nobody is
// granted anything until it is over, while its holder may write it down again. So it is for
// a gateway that was running, and for one that begins then.
func TestRestored(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	guarded := func(node string) *client {
		table, err := OpenTable(Config{URL: etcdtest.URL(s), Node: backend.Node{ID: node}, Lease: 6 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		c := &client{Table: table, t: t, told: make(chan ledger.Addressed, 1000)}
		c.Listen(func(m ledger.Addressed) { c.told <- m })
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	a, b := guarded("a"), guarded("b")
	a.take("before")
	s.Kill()
	copied := s.Copy()
	s.Restart()
	b.take("else")
	granted := a.takeFor("n", time.Minute)
	held := granted.Record.Firm("a")
	// The keys of both are newer than the copy, as they are after ten seconds by themselves.
	for _, to := range []*client{a, b} {
		reach(t, a, to)
	}
	s.Restore(copied)
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var r ledger.Reply
		if r, err = b.try("n", ledger.Op{Want: 1}); err == nil {
			t.Fatalf("what is held is granted again: %+v", r)
		}
		if late := new(backend.Later); errors.As(err, &late) {
			if late.After <= 0 || late.After > 15*time.Second {
				t.Errorf("it says for how long: %v", late.After)
			}
			break
		}
	}
	if !errors.Is(err, backend.ErrRefused) {
		t.Fatalf("the error is %v", err)
	}
	if err := b.Ping(t.Context()); !errors.Is(err, backend.ErrRefused) {
		t.Errorf("ping = %v", err)
	}
	if r, err := b.Look(t.Context(), "n"); err != nil || r.Refusing == "" {
		t.Errorf("look = %+v, %v", r, err)
	}
	c := guarded("c")
	var late *backend.Later
	for end := time.Now().Add(patience); !errors.As(err, &late) && time.Now().Before(end); {
		_, err = c.try("n", ledger.Op{Want: 1})
	}
	if !errors.Is(err, backend.ErrRefused) {
		t.Errorf("a gateway that begins now: %v", err)
	}
	// The holder says what it had.
	seen, err := a.Look(t.Context(), "n")
	if err != nil || seen.Version != "" {
		t.Fatalf("the copy is not an older one: %+v, %v", seen, err)
	}
	op := ledger.Op{Verb: ledger.Reclaim, Node: "a", Hold: held.ID, Keep: 1, Turns: 1, Restore: true, Floor: held.ID, TTL: time.Minute}
	next, effects := ledger.Step(seen.Record, op, 0)
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		r, err := a.Swap(t.Context(), ledger.Swap{Name: "n", Record: next, Effects: effects, Absolute: true})
		if err == nil && r.Written {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the holder cannot write it down again: ", err)
		}
	}
	b.take("other") // once it is over
	if r := b.ask("n", ledger.Op{Want: 1, Lapse: true}); r.Record.Firm("a") == nil || r.Record.Firm("a").ID != held.ID {
		t.Errorf("there is %+v, want the hold of a", r)
	}
}
