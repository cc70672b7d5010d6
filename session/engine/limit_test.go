package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit{timeout: 2 * time.Second}
		defer l.stop()
		type key struct{}
		parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
		first := l.bound(parent)
		time.Sleep(50 * time.Millisecond)
		second := l.bound(parent)
		child, done := context.WithCancel(second)
		defer done()
		time.Sleep(60 * time.Millisecond)
		third := l.bound(parent)
		cancel()
		synctest.Wait()
		if first.Value(key{}) != "v" || first.Err() != nil || child.Err() != nil {
			t.Errorf("value %v, error %v, of a child %v: want those of the parent without its end", first.Value(key{}), first.Err(), child.Err())
		}
		a, _ := first.Deadline()
		b, _ := second.Deadline()
		c, _ := third.Deadline()
		if !a.Equal(b) || !c.After(b) {
			t.Errorf("deadlines %v, %v and %v: want those of the same moment shared, and no longer", a, b, c)
		}
		if left := time.Until(c); left > 2*time.Second || left < 1900*time.Millisecond {
			t.Errorf("%v are left at the beginning", left)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for _, ctx := range []context.Context{first, second, child, third} {
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				t.Errorf("after the timeout: %v, because of %v", ctx.Err(), context.Cause(ctx))
			}
		}
	})
}
