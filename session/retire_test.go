package session_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

// A session of one lock that was about to be forgotten, as it held nothing, and then had its lock
// after all, answers repeats of the release as long as any other.
func TestRetiredSessionRepeats(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		other := c.open(0)
		mustAcquire(t, other, "x", session.Acquire{})
		s, token, err := c.nodes[0].Open(session.Options{Peer: session.NoPeer(), OneLock: true})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Acquire(t.Context(), "x", session.Acquire{Key: "k"})
		wantCode(t, err, session.CodeLocked)
		s.Retire("it was refused")
		time.Sleep(110 * time.Second)
		mustRelease(t, other, "x")
		mustAcquire(t, s, "x", session.Acquire{Key: "k"})
		for range 3 {
			if _, err := c.nodes[0].Lookup(token); err != nil {
				t.Fatal(err)
			}
			if r, err := s.Release(t.Context(), "x", 1, false, "r"); err != nil || r.Count != 0 {
				t.Errorf("release = %+v, %v, want the first answer", r, err)
			}
			time.Sleep(30 * time.Second)
		}
	})
}

// What became of a lock that was lost can be asked for as long after each loss.
func TestRetiredSessionTellsALoss(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s := c.open(0, session.Options{Peer: session.NoPeer(), OneLock: true})
		mustAcquire(t, s, "x", session.Acquire{MaxHold: time.Second})
		time.Sleep(9 * time.Minute)
		mustAcquire(t, s, "x", session.Acquire{MaxHold: time.Second})
		for range 4 {
			time.Sleep(2 * time.Minute)
			_, err := s.Release(t.Context(), "x", 1, false, "")
			wantCode(t, err, session.CodeLost)
		}
	})
}

// A session of one lock that has released it is over: what it waited for is not kept for it, and its
// client would not even be heard about that.
func TestOneLockIsGrantedNothingAfterItsRelease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s, other := c.open(0, session.Options{Peer: session.NoPeer(), OneLock: true}), c.open(0)
		mustAcquire(t, s, "x", session.Acquire{})
		mustAcquire(t, other, "y", session.Acquire{})
		ended := make(chan error)
		go func() {
			_, err := s.Acquire(context.Background(), "y", session.Acquire{Wait: time.Minute})
			ended <- err
		}()
		synctest.Wait()
		if _, err := s.Release(t.Context(), "x", 1, false, "k"); err != nil { // which may be repeated for a while
			t.Fatal(err)
		}
		mustRelease(t, other, "y")
		wantCode(t, <-ended, session.CodeSessionEnded)
		mustAcquire(t, other, "y", session.Acquire{})
	})
}

// So after a restart: one that has released its lock answers repeats for a while, one that held
// nothing is asked for longer, and any other lives on.
func TestRetiredAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		o := session.Options{OneLock: true, MaxHold: time.Hour}
		s, spent := p.open(o)
		mustAcquire(t, s, "x", session.Acquire{})
		if _, err := s.Release(t.Context(), "x", 1, false, "k"); err != nil {
			t.Fatal(err)
		}
		_, empty := p.open(o)
		_, other := p.open(session.Options{MaxHold: time.Hour})
		p = p.restart()
		for _, tt := range []struct {
			after time.Duration
			ended []session.Token
			live  []session.Token
		}{
			{time.Second, nil, []session.Token{spent, empty, other}},
			{3 * time.Minute, []session.Token{spent}, []session.Token{empty, other}},
			{10 * time.Minute, []session.Token{spent, empty}, []session.Token{other}},
		} {
			time.Sleep(tt.after)
			for _, token := range tt.ended {
				_, err := p.Lookup(token)
				wantCode(t, err, session.CodeSessionEnded)
			}
			for _, token := range tt.live {
				if _, err := p.Lookup(token); err != nil {
					t.Errorf("after %v: %v", tt.after, err)
				}
			}
		}
	})
}
