package sqltable

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// While the server has no connection to spare, requests wait for those that there are; and say so
// where none comes free, or there is none. When it has one again, it is made.
func TestPoolMakesDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errFull := fmt.Errorf("%w: no connection to spare", backend.ErrRefused)
		var spare, made atomic.Int32
		var broken atomic.Bool
		spare.Store(1)
		p := NewPool(Connections[int]{
			Product: "SQL",
			Make: func(context.Context) (int, error) {
				if made.Load() == spare.Load() {
					return 0, errFull
				}
				return int(made.Add(1)), nil
			},
			Full:  func(err error) bool { return errors.Is(err, errFull) },
			Alive: func(context.Context, int, time.Duration) bool { return true },
			Keep:  func(int) bool { return !broken.Load() },
			End:   func(int) {},
		}, 4)
		defer p.Close()
		holds := func(d time.Duration) {
			go func() {
				if err := p.With(t.Context(), func(int) error { time.Sleep(d); return nil }); err != nil {
					t.Error(err)
				}
			}()
		}
		with := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond)
			defer cancel()
			return p.With(ctx, func(int) error { return nil })
		}
		for range 3 {
			holds(time.Second)
		}
		synctest.Wait()
		if err := with(); err != nil {
			t.Errorf("one that came free: %v", err)
		}
		time.Sleep(time.Minute)
		holds(time.Minute)
		synctest.Wait()
		if err := with(); !errors.Is(err, errFull) {
			t.Errorf("none came free: %v, want %v", err, errFull)
		}
		if spare.Store(2); with() != nil {
			t.Error("the server has one again, which is not made")
		}
		if len(p.free) < 2 {
			t.Errorf("%d more may be used, want those that were kept back for a while", len(p.free))
		}
		time.Sleep(time.Hour)
		broken.Store(true)
		for range 2 {
			holds(time.Second)
		}
		time.Sleep(time.Minute)
		if err := with(); !errors.Is(err, errFull) || len(p.free) != 4 || p.made != 0 {
			t.Errorf("none is left: %v, %d places, %d made", err, len(p.free), p.made)
		}
	})
}

// Where there is another way for a request, half of its time is left for that when no connection
// comes to be.
func TestPoolLeavesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(Connections[int]{
			Product: "SQL",
			Make: func(ctx context.Context) (int, error) {
				<-ctx.Done()
				return 0, ctx.Err()
			},
		}, 4)
		defer p.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		began := time.Now()
		if err := p.With(ctx, func(int) error { return nil }); !errors.Is(err, backend.ErrUnreachable) || time.Since(began) != time.Second {
			t.Errorf("after %v: %v, want %v after half of the time", time.Since(began), err, backend.ErrUnreachable)
		}
	})
}
