package session_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session"
)

// notes is an observer that keeps what it is told.
type notes struct {
	mu       sync.Mutex // guards the fields below
	acquired []session.Acquired
	given    []session.Given
	ended    []session.HoldEnded
	renewed  []session.Renewed
	within   map[string]int // requests to the store on behalf of an operation, by its name
}

type opKey struct{}

func (n *notes) Begin(ctx context.Context, op session.Operation) context.Context {
	return context.WithValue(ctx, opKey{}, map[session.Operation]string{session.OpAcquire: "acquire", session.OpRelease: "release"}[op])
}

func (n *notes) Detach(ctx context.Context) context.Context {
	return context.WithValue(context.Background(), opKey{}, ctx.Value(opKey{}))
}

func (n *notes) Acquired(_ context.Context, a session.Acquired) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.acquired = append(n.acquired, a)
}

func (n *notes) Given(_ context.Context, g session.Given) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.given = append(n.given, g)
}

func (n *notes) Ended(h session.HoldEnded) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended = append(n.ended, h)
}

func (n *notes) Renewed(r session.Renewed) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.renewed = append(n.renewed, r)
}

// last acquire that was granted, of which the path has to be want.
func (n *notes) wantPath(t *testing.T, want session.WakePath) session.Acquired {
	t.Helper()
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.acquired) == 0 {
		t.Fatalf("no acquire was told, want one by %s", want)
	}
	a := n.acquired[len(n.acquired)-1]
	if a.Err != nil || a.Path != want {
		t.Errorf("path = %q, err %v; want %q", a.Path, a.Err, want)
	}
	return a
}

// traced is a store that notes on whose behalf it is asked.
type traced struct {
	ledger.Table
	n *notes
}

func (s *traced) note(ctx context.Context) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	op, _ := ctx.Value(opKey{}).(string)
	s.n.within[op]++
}

func (s *traced) Swap(ctx context.Context, w ledger.Swap) (ledger.Reply, error) {
	s.note(ctx)
	return s.Table.Swap(ctx, w)
}

func (s *traced) Join(ctx context.Context, name string, e ledger.Entry, floor backend.Fence) (ledger.Reply, error) {
	s.note(ctx)
	return s.Table.Join(ctx, name, e, floor)
}

// Each way to a grant is told as what it is.
func TestObserverWakePaths(t *testing.T) {
	bubble(t, func(t *testing.T) {
		deaf := false
		f := &faulty{drop: func(ledger.Addressed) bool { return deaf }}
		n := &notes{}
		c := newCluster(t, 2, session.Config{Observer: n}, hooked(f))
		here, again, there := c.open(0), c.open(0), c.open(1)

		mustAcquire(t, there, "x", session.Acquire{})
		if a := n.wantPath(t, session.WakeAnswer); a.Fence == 0 || a.Owner == "" || a.Name != "x" {
			t.Errorf("told %+v, want name, owner and fence", a)
		}
		first := wait(t, here, "x", session.Acquire{Wait: time.Minute})
		second := wait(t, again, "x", session.Acquire{Wait: time.Minute})
		time.Sleep(time.Second)
		mustRelease(t, there, "x")
		within(t, time.Second, first)
		if a := n.wantPath(t, session.WakePush); a.Wait < time.Second {
			t.Errorf("wait = %v, want 1s at least", a.Wait)
		}
		mustRelease(t, here, "x")
		within(t, time.Second, second)
		if a := n.wantPath(t, session.WakeLocal); a.Ahead != 1 {
			t.Errorf("ahead = %d, want the one before", a.Ahead)
		}
		mustRelease(t, again, "x")

		deaf = true
		mustAcquire(t, there, "y", session.Acquire{TTL: 2 * time.Second, Fixed: true})
		third := wait(t, here, "y", session.Acquire{Wait: time.Minute})
		within(t, 5*time.Second, third)
		n.wantPath(t, session.WakePoll)

		mustAcquire(t, there, "z", session.Acquire{})
		fourth := wait(t, here, "z", session.Acquire{Wait: time.Minute})
		mustRelease(t, there, "z")
		f.tell(ledger.Addressed{Name: "z", Message: ledger.Message{Kind: ledger.Look}}) // as of a holder outside lockgw
		within(t, 0, fourth)
		n.wantPath(t, session.WakePush)
	})
}

// Every end of an acquire is told once, a re-entry as one.
func TestObserverOutcomes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := &notes{}
		c := newCluster(t, 1, session.Config{Observer: n}, nil)
		a, b := c.open(0), c.open(0)
		mustAcquire(t, a, "x", session.Acquire{})
		mustAcquire(t, a, "x", session.Acquire{})
		_, locked := b.Acquire(t.Context(), "x", session.Acquire{})
		_, timeout := b.Acquire(t.Context(), "x", session.Acquire{Wait: time.Second})
		_, invalid := b.Acquire(t.Context(), "", session.Acquire{})
		wantCode(t, locked, session.CodeLocked)
		wantCode(t, timeout, session.CodeWaitTimeout)
		wantCode(t, invalid, session.CodeInvalid)
		mustRelease(t, a, "x")
		mustRelease(t, a, "x")
		n.mu.Lock()
		defer n.mu.Unlock()
		if len(n.acquired) != 4 {
			t.Fatalf("%d acquires were told, want 4: what is refused before it begins is none", len(n.acquired))
		}
		if x := n.acquired[1]; !x.Reentered || x.Path != "" {
			t.Errorf("re-entry = %+v, want it told as one", x)
		}
		if n.acquired[2].Err != locked || n.acquired[3].Err != timeout || n.acquired[3].Wait < time.Second {
			t.Errorf("told %v and %v after %v, want what the callers were told", n.acquired[2].Err, n.acquired[3].Err, n.acquired[3].Wait)
		}
		if len(n.given) != 2 || n.given[0].Count != 1 || n.given[1].Count != 0 || n.given[1].Grant == nil {
			t.Errorf("releases = %+v, want two, the second of the last entry, each with its acquire", n.given)
		}
		if len(n.ended) != 1 {
			t.Errorf("%d ends of holds were told, want 1: of two entries", len(n.ended))
		}
	})
}

func TestObserverEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f, n := &faulty{}, &notes{}
		c := newCluster(t, 1, session.Config{Observer: n}, hooked(f))
		s := c.open(0)
		mustAcquire(t, s, "released", session.Acquire{})
		time.Sleep(3 * time.Second)
		mustRelease(t, s, "released")
		mustAcquire(t, s, "max_hold", session.Acquire{MaxHold: time.Second})
		time.Sleep(2 * time.Second)
		mustAcquire(t, s, "session", session.Acquire{})
		s.End(t.Context(), "its client is gone")
		synctest.Wait()
		n.mu.Lock()
		defer n.mu.Unlock()
		want := []session.HoldEnded{
			{Name: "released", Held: 3 * time.Second}, {Name: "max_hold", Held: time.Second, Lost: true, Reason: "max_hold"},
			{Name: "session", Reason: "its client is gone"},
		}
		if len(n.ended) != len(want) {
			t.Fatalf("ends = %+v, want %+v", n.ended, want)
		}
		for i, w := range want {
			h := n.ended[i]
			if h.Name != w.Name || h.Lost != w.Lost || h.Reason != w.Reason || h.Held.Round(time.Second) != w.Held || h.Grant == nil {
				t.Errorf("end %d = %+v, want %+v with its acquire", i, h, w)
			}
		}
	})
}

// The margin is what was left of the lease that the renewal has replaced.
func TestObserverRenewals(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f, n := &faulty{}, &notes{}
		c := newCluster(t, 1, session.Config{Observer: n}, hooked(f))
		s := c.open(0)
		mustAcquire(t, s, "x", session.Acquire{TTL: 30 * time.Second})
		time.Sleep(11 * time.Second)
		f.set(always(errLost, "renew"), nil)
		time.Sleep(40 * time.Second)
		n.mu.Lock()
		defer n.mu.Unlock()
		if len(n.renewed) < 3 {
			t.Fatalf("%d renewals were told, want the confirmed one and those that failed", len(n.renewed))
		}
		if r := n.renewed[0]; r.Err != nil || r.Margin < 19*time.Second || r.Margin > 21*time.Second || r.TTL != 30*time.Second || r.Name != "x" {
			t.Errorf("the first = %+v, want it confirmed with about 20s left of 30s", r)
		}
		last := n.renewed[1]
		for _, r := range n.renewed[2:] {
			if r.Err == nil || r.Margin >= last.Margin {
				t.Errorf("after %+v came %+v, want errors and ever less margin", last, r)
			}
			last = r
		}
		if len(n.ended) != 1 || n.ended[0].Reason != "expired" || !n.ended[0].Lost {
			t.Errorf("ends = %+v, want one, by expiry", n.ended)
		}
	})
}

// Requests to the store on behalf of a caller are told to be so.
func TestObserverDetach(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := &notes{within: map[string]int{}}
		c := newCluster(t, 1, session.Config{Observer: n}, func(_ int, b ledger.Table) ledger.Table { return &traced{b, n} })
		s := c.open(0)
		mustAcquire(t, s, "x", session.Acquire{})
		mustRelease(t, s, "x")
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.within["acquire"] != 1 || n.within["release"] != 1 || n.within[""] != 0 {
			t.Errorf("requests by operation = %v, want one of each", n.within)
		}
	})
}
