package session_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

// many races are enough that one of them goes each way.
const many = 2000

// A request in the very moment in which the silence has lasted too long is either
// refused or ends the silence: a session whose sign of life was accepted goes on.
func TestSignOfLifeInTheLastMoment(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		m := c.nodes[0]
		for range 5 {
			var wg sync.WaitGroup
			for range many {
				s, token, err := m.Open(session.Options{Peer: session.NoPeer(), Keepalive: 5 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				wg.Go(func() {
					time.Sleep(5 * time.Second)
					_, err := m.Lookup(token)
					time.Sleep(time.Second)
					if ended := s.Err(); err == nil && ended != nil {
						t.Errorf("its request was accepted, and the session closed: %v", ended)
					}
				})
			}
			wg.Wait()
		}
	})
}

// The same for a client that comes back as the last connection leaves. Both find the session
// busy, one after the other, for so long that its mutex goes from hand to hand: between any
// two steps under it the other one has its turn.
func TestAttachAsTheLastLeaves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		for range 20 {
			s := c.open(0, session.Options{Peer: session.NoPeer(), Conns: true})
			if err := s.Attach(); err != nil {
				t.Fatal(err)
			}
			var left sync.WaitGroup
			came := make(chan error, 1)
			handOn(s,
				func() { left.Go(func() { s.Detach("hung up") }) },
				func() { go func() { came <- s.Attach() }() })
			err := <-came
			left.Wait()
			if ended := s.Err(); err == nil && ended != nil {
				t.Errorf("joined, and closed: %v", ended)
			}
		}
	})
}

// handOn has two goroutines, which first and second start, find s busy one after the other for
// so long that they have its mutex in turn, step by step.
func handOn(s *session.Session, first, second func()) {
	free := s.Hold()
	first()
	yield()
	second()
	yield()
	free()
	free = s.Hold() // before the first of them is awake, which asks to be handed the mutex
	yield()
	free()
}

// The same for one that comes back in the last moment after a restart.
func TestReturnInTheLastMoment(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		tokens := make([]session.Token, 20)
		for i := range tokens {
			_, tokens[i] = p.open(session.Options{Conns: true})
		}
		p = p.restart()
		var wg sync.WaitGroup
		for _, token := range tokens {
			s := p.lookup(token)
			wg.Go(func() {
				time.Sleep(10*time.Second - 1)
				came := make(chan error, 1)
				handOn(s,
					func() { time.Sleep(time.Nanosecond) }, // until it is to end
					func() { wg.Go(func() { came <- s.Attach() }) })
				err := <-came
				time.Sleep(time.Second)
				if ended := s.Err(); err == nil && ended != nil {
					t.Errorf("came back, and was closed: %v", ended)
				}
			})
		}
		wg.Wait()
	})
}

// yield lets all others run for some milliseconds: a mutex for which somebody has waited for
// one is handed over.
func yield() {
	for range 20_000 {
		runtime.Gosched()
	}
}

// A session of one lock ends with it: what it asks for in that moment is refused, not
// granted and taken away.
func TestOneLockAsksAgainAtItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		var wg sync.WaitGroup
		for range many {
			s := c.open(0, session.Options{Peer: session.NoPeer(), OneLock: true})
			wg.Go(func() {
				name := s.ID()
				if _, err := s.Acquire(context.Background(), name, session.Acquire{}); err != nil {
					t.Error(err)
				}
				if _, err := s.Release(context.Background(), name, 1, false, ""); err != nil {
					t.Error(err)
				}
				g, err := s.Acquire(context.Background(), name, session.Acquire{})
				if err != nil {
					wantCode(t, err, session.CodeSessionEnded)
					return
				}
				if time.Sleep(time.Second); !held(g.Lease) {
					t.Error("granted to a session that was about to end")
				}
			})
		}
		wg.Wait()
	})
}

// A session of one lock that lost it can be asked why, and may take it again: then it
// does not end while it holds.
func TestOneLockTakenAgainAfterALoss(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s := c.open(0, session.Options{Peer: session.NoPeer(), OneLock: true})
		mustAcquire(t, s, "x", session.Acquire{MaxHold: time.Second})
		time.Sleep(2 * time.Second)
		l := mustAcquire(t, s, "x", session.Acquire{})
		time.Sleep(time.Hour)
		if !held(l) {
			t.Fatalf("lost: %v", l.Err())
		}
		mustRelease(t, s, "x")
		synctest.Wait()
		wantCode(t, s.Err(), session.CodeSessionEnded)
	})
}

// One that waits when it would end goes on waiting, and ends when that is over.
func TestOneLockWaitsAfterALoss(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{Limits: session.Limits{MaxWait: time.Hour}}, nil)
		s, other := c.open(0, session.Options{Peer: session.NoPeer(), OneLock: true}), c.open(0)
		mustAcquire(t, s, "x", session.Acquire{MaxHold: time.Second})
		mustAcquire(t, other, "y", session.Acquire{})
		time.Sleep(2 * time.Second)
		_, err := s.Acquire(t.Context(), "y", session.Acquire{Wait: 20 * time.Minute})
		wantCode(t, err, session.CodeWaitTimeout)
		if s.Err() != nil {
			t.Errorf("ended while it waited: %v", s.Err())
		}
		time.Sleep(10 * time.Minute)
		wantCode(t, s.Err(), session.CodeSessionEnded)
	})
}
