package session_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/session"
)

// A session of these locks alone lives until the last of them is released, and is
// not ended by what a request gives back.
func TestSessionOfSeveralLocks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		other := c.open(0)
		mustAcquire(t, other, "b", session.Acquire{})
		s, token, err := c.nodes[0].Open(session.Options{OneLock: true})
		if err != nil {
			t.Fatal(err)
		}
		a := session.Acquire{Key: "k"}
		_, err = s.AcquireAll(t.Context(), []string{"a", "b"}, a)
		refusedFor(t, err, session.CodeLocked, "b")
		mustRelease(t, other, "b")
		time.Sleep(time.Minute)
		a.Key = "k2"
		mustAcquireAll(t, s, a, "a", "b")
		time.Sleep(time.Hour)
		mustRelease(t, s, "a")
		synctest.Wait()
		if _, err := c.nodes[0].Lookup(token); err != nil {
			t.Fatalf("after the first release: %v, want a session that holds b", err)
		}
		mustRelease(t, s, "b")
		time.Sleep(time.Hour)
		_, err = c.nodes[0].Lookup(token)
		wantCode(t, err, session.CodeSessionEnded)

		mustAcquire(t, other, "b", session.Acquire{})
		s, token, err = c.nodes[0].Open(session.Options{OneLock: true})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.AcquireAll(t.Context(), []string{"a", "b"}, session.Acquire{})
		refusedFor(t, err, session.CodeLocked, "b")
		time.Sleep(time.Hour)
		_, err = c.nodes[0].Lookup(token)
		wantCode(t, err, session.CodeSessionEnded)
	})
}

func TestReleaseAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s := c.open(0)
		l := mustAcquireAll(t, s, session.Acquire{}, "a", "b")[0].Lease
		_, err := s.ReleaseAll(t.Context(), []string{"a", "x", "b"}, 1, "")
		refusedFor(t, err, session.CodeNotOwner, "x")
		_, err = s.ReleaseAll(t.Context(), []string{"a", "b"}, 2, "")
		refusedFor(t, err, session.CodeNotOwner, "a")
		_, err = s.ReleaseAll(t.Context(), []string{"a", "a"}, 1, "")
		wantCode(t, err, session.CodeInvalid)
		if !held(l) {
			t.Fatalf("a refused release has given up a: %v", l.Err())
		}
		mustAcquire(t, s, "short", session.Acquire{MaxHold: time.Second})
		time.Sleep(2 * time.Second)
		_, err = s.ReleaseAll(t.Context(), []string{"a", "short"}, 1, "")
		refusedFor(t, err, session.CodeLost, "short")
		c.wantFree("a", "short")
		mustAcquire(t, s, "b", session.Acquire{})
		mustAcquire(t, s, "c", session.Acquire{Thread: 2})
		done, err := s.ReleaseAll(t.Context(), nil, 0, "")
		if err != nil || !slices.Equal(done.Released, []string{"b", "c"}) {
			t.Errorf("release of everything = %+v, %v, want b and c", done, err)
		}
		c.wantFree("b", "c")
		s.End(t.Context(), "test")
		_, err = s.ReleaseAll(t.Context(), nil, 0, "")
		wantCode(t, err, session.CodeSessionEnded)
	})
}

func TestReleaseAllWithoutStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 1, session.Config{}, hooked(f))
		s := c.open(0)
		var names []string
		for i := range 20 {
			names = append(names, fmt.Sprint(i))
		}
		mustAcquireAll(t, s, session.Acquire{}, names...)
		f.set(always(errLost), nil)
		began := time.Now()
		done, err := s.ReleaseAll(t.Context(), names, 1, "")
		if err != nil || !done.Pending || done.FreeBy <= 0 || done.FreeBy > 30*time.Second {
			t.Errorf("release = %+v, %v, want it pending for at most the ttl", done, err)
		}
		if d := time.Since(began); d > 3*time.Second {
			t.Errorf("answered after %v, want at most 2 s", d)
		}
		f.set(nil, nil)
	})
}

// Who waits for several when its session ends is told so, and not that it has released one.
func TestAcquireAllOfAnEndedSession(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16)) // so that the system interrupts anywhere
	for range 200 {                                  // whichever it hears of first
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 1, session.Config{}, nil)
			mustAcquire(t, c.open(0), "y", session.Acquire{})
			s := c.open(0)
			over := make(chan error, 1)
			go func() {
				_, err := s.AcquireAll(t.Context(), []string{"x", "y"}, session.Acquire{Wait: time.Minute})
				over <- err
			}()
			synctest.Wait()
			s.End(t.Context(), "a test")
			wantCode(t, <-over, session.CodeSessionEnded)
		})
	}
}
