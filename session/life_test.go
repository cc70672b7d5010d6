package session_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

func TestSessionEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		a, b := c.open(0), c.open(0)
		mustAcquire(t, a, "x", session.Acquire{})
		mustAcquire(t, a, "y", session.Acquire{Thread: 7})
		mustAcquire(t, b, "z", session.Acquire{})
		ended := make(chan error)
		go func() {
			_, err := a.Acquire(context.Background(), "z", session.Acquire{Wait: time.Minute})
			ended <- err
		}()
		synctest.Wait()
		began := time.Now()
		if names := a.End(t.Context(), "enough").Released; len(names) != 2 {
			t.Errorf("released %v, want x and y", names)
		}
		wantCode(t, <-ended, session.CodeSessionEnded)
		if time.Since(began) > 0 {
			t.Error("the wait went on after the session")
		}
		mustAcquire(t, b, "x", session.Acquire{})
		mustAcquire(t, b, "y", session.Acquire{})
		_, err := a.Acquire(t.Context(), "w", session.Acquire{})
		wantCode(t, err, session.CodeSessionEnded)
		if err == nil || !strings.Contains(err.Error(), "enough") {
			t.Errorf("err = %v, want the reason", err)
		}
		_, err = a.Release(t.Context(), "x", 1, false, "")
		wantCode(t, err, session.CodeSessionEnded)
	})
}

// A session that ends in the moment of its grant keeps nothing.
func TestSessionEndsAtTheGrant(t *testing.T) {
	bubble(t, func(t *testing.T) {
		clock := &jumpy{}
		c := newCluster(t, 1, session.Config{Clock: clock.now}, nil)
		s := c.open(0)
		clock.when("(*Lease).tell", func() { s.End(context.Background(), "gone") })
		_, err := s.Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeSessionEnded)
		synctest.Wait()
		mustAcquire(t, c.open(0), "x", session.Acquire{})
	})
}

func TestTokens(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s, token, err := c.nodes[0].Open(session.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.nodes[0].Lookup(token); err != nil || got != s {
			t.Errorf("lookup = %v, %v, want the session", got, err)
		}
		for _, bad := range []session.Token{"", "x", token + "x", token[:42]} {
			_, err := c.nodes[0].Lookup(bad)
			wantCode(t, err, session.CodeNoSession)
		}
		if strings.Contains(token.String(), token.Secret()) || len(token.Secret()) != 43 {
			t.Errorf("token prints as %s, has %d characters", token, len(token.Secret()))
		}
		s.End(t.Context(), "because")
		_, err = c.nodes[0].Lookup(token)
		wantCode(t, err, session.CodeSessionEnded)
		if !strings.Contains(err.Error(), "because") {
			t.Errorf("err = %v, want the reason", err)
		}
	})
}

func TestKeepalive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s := c.open(0, session.Options{Keepalive: 5 * time.Second})
		l := mustAcquire(t, s, "x", session.Acquire{})
		for range 10 {
			time.Sleep(4 * time.Second)
			s.Touch()
		}
		if !held(l) {
			t.Fatalf("lost while it was alive: %v", l.Err())
		}
		began := time.Now()
		<-s.Done()
		if d := time.Since(began); d != 5*time.Second {
			t.Errorf("ended after %v of silence, want 5 s", d)
		}
		synctest.Wait()
		mustAcquire(t, c.open(0), "x", session.Acquire{})
	})
}

// Silence of a client that is refused connections says nothing. It does once the client
// could speak again.
func TestNoSilenceWhileRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var refused atomic.Int64
		cfg := session.Config{Clock: fakeClock()}
		cfg.Refused = func(o session.Options) time.Duration {
			if o.Account != "uid 1001" {
				return 0
			}
			return time.Duration(refused.Load())
		}
		c := newCluster(t, 1, cfg, nil)
		s := c.open(0, session.Options{Keepalive: 5 * time.Second, Account: "uid 1001"})
		other := c.open(0, session.Options{Keepalive: 5 * time.Second, Account: "uid 1002"})
		for range 10 {
			time.Sleep(4 * time.Second)
			refused.Store(int64(cfg.Clock()))
		}
		if s.Err() != nil {
			t.Errorf("ended while its client was refused: %v", s.Err())
		}
		if other.Err() == nil {
			t.Error("a session lives on because somebody else is refused")
		}
		began := time.Now()
		<-s.Done()
		if d := time.Since(began); d != 5*time.Second {
			t.Errorf("ended %v after the last refusal, want 5 s", d)
		}
	})
}

// A request that waits is a sign of life, and so is the end of its wait.
func TestKeepaliveWhileWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		a := c.open(0)
		mustAcquire(t, a, "x", session.Acquire{})
		s := c.open(0, session.Options{Keepalive: 2 * time.Second})
		got := wait(t, s, "x", session.Acquire{Wait: time.Minute})
		time.Sleep(21500 * time.Millisecond)
		mustRelease(t, a, "x")
		l, granted := within(t, 0, got), time.Now()
		<-s.Done()
		if lived := time.Since(granted); lived < 2*time.Second {
			t.Errorf("the session has ended %v after the grant", lived)
		}
		synctest.Wait()
		if held(l) {
			t.Error("held after the session")
		}
	})
}

func TestConnections(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s := c.open(0, session.Options{Conns: true})
		kept := c.open(0, session.Options{Conns: true, Keepalive: time.Hour})
		for _, x := range []*session.Session{s, s, kept} {
			if err := x.Attach(); err != nil {
				t.Fatal(err)
			}
		}
		before := s.Outlives()
		s.Detach("first")
		kept.Detach("hang-up")
		if s.Err() != nil || kept.Err() != nil || !before || s.Outlives() {
			t.Fatalf("ended too early: %v, %v; with two connections it outlives one: %v, with one: %v", s.Err(), kept.Err(), before, s.Outlives())
		}
		s.Detach("second")
		wantCode(t, s.Err(), session.CodeSessionEnded)
		wantCode(t, s.Attach(), session.CodeSessionEnded)
	})
}

// What lives by something else goes on when its last connection ends.
func TestConnectionsOfOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		blocks := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		for name, tt := range map[string]struct {
			o     session.Options
			lives bool
		}{
			"connections":   {session.Options{Conns: true}, false},
			"signs of life": {session.Options{Conns: true, Keepalive: time.Hour}, true},
			"a process":     {session.Options{Conns: true, Alive: blocks}, true},
			"none of these": {session.Options{MaxHold: time.Hour}, true},
		} {
			s := c.open(0, tt.o)
			if err := s.Attach(); err != nil {
				t.Fatal(err)
			}
			if s.Outlives() != tt.lives {
				t.Errorf("%s: outlives its connection: %v", name, s.Outlives())
			}
			if s.Detach("hung up"); (s.Err() == nil) != tt.lives {
				t.Errorf("%s: %v", name, s.Err())
			}
		}
	})
}

func TestLiveness(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		died := make(chan error)
		alive := func(ctx context.Context) error {
			select {
			case err := <-died:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		s := c.open(0, session.Options{Alive: alive})
		l := mustAcquire(t, s, "x", session.Acquire{})
		died <- errors.New("process 12 has exited")
		<-s.Done()
		synctest.Wait()
		if held(l) || !strings.Contains(s.Err().Error(), "process 12") {
			t.Errorf("held %v, err %v, want released with the reason", held(l), s.Err())
		}
		c.open(0, session.Options{Alive: alive}).End(t.Context(), "by hand") // its goroutine ends with it
	})
}

func TestMaxHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s := c.open(0)
		sub := c.nodes[0].Subscribe(10, func(e session.Event) bool { return e.Type == session.EventLost })
		defer sub.Close()
		l := mustAcquire(t, s, "x", session.Acquire{MaxHold: 100 * time.Second})
		time.Sleep(99 * time.Second)
		if !held(l) {
			t.Fatalf("lost too early: %v", l.Err())
		}
		got := wait(t, c.open(0), "x", session.Acquire{Wait: time.Minute})
		within(t, time.Second, got)
		if e := <-sub.C; e.Reason != "max_hold" {
			t.Errorf("event = %+v, want max_hold", e)
		}
		_, err := s.Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeLocked)
		_, err = s.Release(t.Context(), "x", 1, false, "")
		wantCode(t, err, session.CodeLost)
	})
}

// Why a session has ended is not remembered for good.
func TestEndsAreForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newCluster(t, 1, session.Config{}, nil).nodes[0]
		end := func() session.Token {
			s, token, err := m.Open(session.Options{Peer: session.NoPeer()})
			if err != nil {
				t.Fatal(err)
			}
			s.End(t.Context(), "a test")
			return token
		}
		old := end()
		time.Sleep(time.Hour)
		for range 10_000 { // each end forgets two others, if those are old
			end()
			if _, err := m.Lookup(old); session.CodeOf(err) == session.CodeNoSession {
				return
			}
		}
		t.Error("an hour later it is still known why the session has ended")
	})
}

func TestMinHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{TTL: 3 * time.Second}, nil)
		s := c.open(0)
		l := mustAcquire(t, s, "x", session.Acquire{MinHold: 50 * time.Second, Fixed: true})
		mustRelease(t, s, "x")
		if held(l) {
			t.Error("held after the release")
		}
		time.Sleep(49 * time.Second)
		_, err := c.open(0).Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeLocked)
		_, err = c.open(1).Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeLocked)
		time.Sleep(time.Second)
		synctest.Wait()
		mustAcquire(t, c.open(1), "x", session.Acquire{})
	})
}

func TestDelayAfterLoss(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{Delay: 7 * time.Second}, nil)
		s := c.open(0)
		mustAcquire(t, s, "x", session.Acquire{MaxHold: time.Second})
		got := wait(t, c.open(0), "x", session.Acquire{Wait: time.Minute})
		time.Sleep(7 * time.Second)
		synctest.Wait()
		select {
		case <-got:
			t.Error("granted within the delay")
		default:
		}
		within(t, 2*time.Second, got)
		mustAcquire(t, s, "y", session.Acquire{})
		mustRelease(t, s, "y")
		mustAcquire(t, s, "y", session.Acquire{}) // a release in time has no delay
	})
}

// What a gateway had that died is nobody's either, from the end of its lease on.
func TestDelayAfterDeath(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := session.Config{TTL: 10 * time.Second, Delay: 7 * time.Second}
		store := memory.NewRows()
		store.Keep = true
		dead, alive := begin(t, store, cfg), begin(t, store, cfg)
		s, _ := dead.open(patient)
		mustAcquire(t, s, "x", session.Acquire{})
		dead.kill()
		o, _ := alive.open(patient)
		got := wait(t, o, "x", session.Acquire{Wait: time.Minute})
		time.Sleep(16 * time.Second)
		synctest.Wait()
		if len(got) > 0 {
			t.Error("granted within the delay")
		}
		within(t, 2*time.Second, got)
	})
}

func TestOneLock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s, token, err := c.nodes[0].Open(session.Options{OneLock: true})
		if err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, s, "x", session.Acquire{})
		mustRelease(t, s, "x")
		synctest.Wait()
		_, err = c.nodes[0].Lookup(token)
		wantCode(t, err, session.CodeSessionEnded)

		s, token, err = c.nodes[0].Open(session.Options{OneLock: true, MaxHold: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, s, "x", session.Acquire{})
		time.Sleep(2 * time.Second)
		if s, err = c.nodes[0].Lookup(token); err != nil {
			t.Fatalf("after a loss: %v, want a session that can be asked", err)
		}
		_, err = s.Release(t.Context(), "x", 1, false, "")
		wantCode(t, err, session.CodeLost)
		time.Sleep(time.Hour)
		_, err = c.nodes[0].Lookup(token)
		wantCode(t, err, session.CodeSessionEnded)
	})
}

// A repeat of the release of a one-lock session gets the first answer, though the
// lock is gone; anything else is told that the session is over.
func TestOneLockRepeats(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s, token, err := c.nodes[0].Open(session.Options{OneLock: true})
		if err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, s, "x", session.Acquire{})
		for range 3 {
			if r, err := s.Release(t.Context(), "x", 1, false, "key"); err != nil || r.Count != 0 {
				t.Errorf("release = %+v, %v, want the first answer", r, err)
			}
			time.Sleep(30 * time.Second)
		}
		_, err = s.Release(t.Context(), "x", 1, false, "other key")
		wantCode(t, err, session.CodeSessionEnded)
		_, err = s.Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeSessionEnded)
		time.Sleep(2 * time.Minute)
		_, err = c.nodes[0].Lookup(token)
		wantCode(t, err, session.CodeSessionEnded)
	})
}

func TestDrain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		a, b := c.open(0), c.open(0)
		l := mustAcquire(t, a, "x", session.Acquire{})
		ended := make(chan error)
		go func() {
			_, err := b.Acquire(context.Background(), "x", session.Acquire{Wait: time.Minute})
			ended <- err
		}()
		synctest.Wait()
		c.nodes[0].Drain()
		wantCode(t, <-ended, session.CodeDraining)
		_, err := b.Acquire(t.Context(), "y", session.Acquire{})
		wantCode(t, err, session.CodeDraining)
		_, _, err = c.nodes[0].Open(session.Options{})
		wantCode(t, err, session.CodeDraining)
		time.Sleep(time.Minute)
		if !held(l) {
			t.Errorf("a hold ended by draining: %v", l.Err())
		}
		mustRelease(t, a, "x")
	})
}
