package session

import (
	"testing"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session/journal"
)

// A release that has found the hold just before the gateway left it to the next process is
// refused: nothing was given back.
func TestReleaseOfWhatWasLeftBehind(t *testing.T) {
	rows := memory.NewRows()
	m := New(memory.OpenTable(rows, "n"), Config{KeepHolds: true})
	s, _, err := m.Open(Options{Peer: NoPeer()})
	if err != nil {
		t.Fatal(err)
	}
	g, err := s.Acquire(t.Context(), "x", Acquire{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Lease.end("released"); err == nil || err.Code != CodeDraining {
		t.Errorf("the release: %v, want that the gateway is going away", err)
	}
}

// A grant that finds its session ended is taken back, and a repeat of the request asks anew.
// One that the gateway has left to the next process stays, and so does its answer: a repeat
// must not enter the lock a second time.
func TestGrantAfterTheEnd(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		dir := t.TempDir()
		j, past, err := journal.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		m := New(memory.OpenTable(memory.NewRows(), past.Node), Config{KeepHolds: keeps, Journal: j, Past: past})
		s, _, err := m.Open(Options{Peer: NoPeer()})
		if err != nil {
			t.Fatal(err)
		}
		k, a := holdKey{"x", 1}, Acquire{Key: "once"}
		if err := s.check(k.name, &a); err != nil {
			t.Fatal(err)
		}
		_, _, l, err := s.begin(k, a)
		if err != nil {
			t.Fatal(err)
		}
		waits, err := s.stand(t.Context(), l, &a, &receipt{key: a.Key, what: "acquire"})
		if waits || err != nil {
			t.Fatalf("waits: %v, %v", waits, err)
		}
		end, want := func() { s.End(t.Context(), "done") }, CodeSessionEnded
		if keeps {
			end, want = func() { _ = m.Close(t.Context()) }, CodeDraining
		}
		end()
		if err := s.finish(l, nil); CodeOf(err) != want {
			t.Errorf("the acquire: %v, want %v", err, want)
		}
		_ = j.Close()
		j, past, err = journal.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		_ = j.Close()
		p, answered := past.Places[journal.Key{Name: k.name}], false
		for _, c := range past.Sessions {
			_, answered = c.Answers[a.Key]
		}
		if held := p != nil && p.Turn != nil; held != keeps || answered != keeps {
			t.Errorf("holds are kept: %v; the next process has the hold: %v, and its answer: %v", keeps, held, answered)
		}
	}
}
