package session

import (
	"testing"

	"github.com/lockgw/lockgw/backend/memory"
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
	if _, err := g.Lease.end("released", nil); err == nil || err.Code != CodeDraining {
		t.Errorf("the release: %v, want that the gateway is going away", err)
	}
}
