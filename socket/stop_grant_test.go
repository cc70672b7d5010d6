package socket

import (
	"context"
	"testing"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/journal"
)

// Who is granted a lock just as the gateway stops is told that it has none, and the next process
// holds none for it.
func TestStopBeforeAGrantIsTold(t *testing.T) {
	dir := t.TempDir()
	j, past, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	stop := func() {}
	h := &heldUp{at: func(session.Acquired) { stop() }}
	g := start(t, h.option, func(o *setup) { o.session.Journal, o.session.Past, o.session.KeepHolds = j, past, true })
	w := g.dial()
	w.lock("b")
	stop = func() {
		if err := g.m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	w.wantError("DRAINING ", "LOCK", "a")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j, past, err = journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for name, held := range map[string]bool{"a": false, "b": true} {
		if p := past.Places[journal.Key{Name: name}]; p == nil || (p.Turn != nil) != held {
			t.Errorf("%s: the next process finds %+v, want a place, held %v", name, p, held)
		}
	}
}
