package session

import (
	"context"
	"testing"

	"github.com/lockgw/lockgw/backend/memory"
)

// Of sessions that were refused, repeated or ended nothing is left.
func TestIndexForgets(t *testing.T) {
	b := memory.OpenTable(memory.NewRows(), "n")
	m := New(b, Config{Limits: Limits{Sessions: 1}})
	defer b.Close()
	defer m.Close(context.Background())
	for range 3 {
		s, _, err := m.Open(Options{Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		if same, _, err := m.Open(Options{Key: "k"}); same != s {
			t.Fatalf("a repeat = %v, %v, want the same session", same, err)
		}
		if _, _, err := m.Open(Options{}); CodeOf(err) != CodeTooManySessions {
			t.Fatalf("err = %v, want %s", err, CodeTooManySessions)
		}
		s.End(t.Context(), "enough")
	}
	for id, s := range m.index.byID.Range {
		t.Errorf("%v is left: %v", id, s)
	}
}
