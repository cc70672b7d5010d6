package session

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/memory"
)

// slowly is a store that takes a second to describe.
type slowly struct{ backend.Backend }

func (s slowly) Describe(ctx context.Context, r backend.Request) error {
	time.Sleep(time.Second)
	return s.Backend.Describe(ctx, r)
}

// A caller that wakes for another reason, such as to hear that it has to wait,
// is not told of its turn before the store has its owner.
func TestNotToldBeforeTheStoreKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.Open(memory.NewStore(), backend.Node{ID: "n", Incarnation: 1})
		begin := time.Now().Add(-time.Hour)
		m := New(slowly{b}, Config{Fairness: Fairness{ExactOwner: true}, Clock: func() time.Duration { return time.Since(begin) }})
		defer m.Close(t.Context())
		open := func() *Session {
			s, _, err := m.Open(Options{})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		first, second := open(), open()
		if _, err := first.Acquire(t.Context(), "x", Acquire{}); err != nil {
			t.Fatal(err)
		}
		told := make(chan error, 1)
		go func() {
			_, err := second.Acquire(context.Background(), "x", Acquire{Wait: time.Minute})
			told <- err
		}()
		synctest.Wait()
		if _, err := first.Release(t.Context(), "x", 1, false, ""); err != nil {
			t.Fatal(err)
		}
		p := m.places[placeKey{name: "x"}]
		p.cur.signal()
		synctest.Wait()
		select {
		case <-told:
			t.Error("told while its owner is being written")
		default:
		}
		if err := <-told; err != nil {
			t.Errorf("acquire: %v", err)
		}
	})
}
