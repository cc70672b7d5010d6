package memory_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/memory"
)

// A store that does not know what is held grants nothing until that is over, says so, and
// grants then.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.NewStore()
		b := memory.Open(s, backend.Node{ID: "n", Incarnation: 1})
		s.Pause(30 * time.Second)
		r := backend.Request{Name: "x", Seq: 1, Owner: "o:1", TTL: time.Minute, Turns: 1}
		time.Sleep(29 * time.Second)
		_, err := b.Acquire(t.Context(), r)
		var later *backend.Later
		if !errors.Is(err, backend.ErrRefused) || !errors.As(err, &later) || later.After != time.Second {
			t.Errorf("acquire: %v, want a refusal for a second", err)
		}
		if st, err := b.Inspect(t.Context(), "x"); err != nil || st.Refusing == "" {
			t.Errorf("status = %+v, %v, want why nothing is granted", st, err)
		}
		if b.Ping(t.Context()) == nil {
			t.Error("ready though nothing is granted")
		}
		time.Sleep(time.Second)
		r.Seq++
		if a, err := b.Acquire(t.Context(), r); err != nil || !a.Granted {
			t.Errorf("acquire after the pause: %+v, %v", a, err)
		}
		if err := b.Ping(t.Context()); err != nil {
			t.Errorf("ping after the pause: %v", err)
		}
	})
}
