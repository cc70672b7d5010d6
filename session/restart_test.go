package session_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/journal"
)

// process is a gateway process with a state directory.
type process struct {
	*session.Manager
	t     *testing.T
	cfg   session.Config
	store *memory.Rows
	f     *faulty
	j     *journal.Journal
	dir   string
	early *ledger.Addressed
	own   bool // the store ends with the process, as the embedded one

	closing chan struct{} // of capacity 1: one at a time closes the Manager
}

// begin starts the first process of a node.
func begin(t *testing.T, store *memory.Rows, cfg session.Config) *process {
	t.Helper()
	if cfg.Clock == nil {
		cfg.Clock = fakeClock()
	}
	cfg.KeepHolds, store.Clock = true, cfg.Clock
	return (&process{t: t, cfg: cfg, store: store, dir: t.TempDir()}).start()
}

func (p *process) start() *process { return p.startOver(nil) }

// startOver starts the next process, whose first requests meet before.
func (p *process) startOver(before func(verb string) error) *process {
	p.t.Helper()
	j, past, err := journal.Open(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	q := &process{t: p.t, cfg: p.cfg, store: p.store, j: j, dir: p.dir, own: p.own, closing: make(chan struct{}, 1)}
	if p.own {
		q.store = memory.NewRows()
		q.store.Clock = p.cfg.Clock
		q.store.Raise(backend.Fence(past.Fence))
		if left := past.Until - p.cfg.Clock(); left > 0 {
			q.store.Pause(left)
		}
	}
	q.f = &faulty{Table: memory.OpenTable(q.store, past.Node), before: before, early: p.early}
	cfg := p.cfg
	cfg.Journal, cfg.Past = j, past
	q.Manager = session.New(q.f, cfg)
	p.t.Cleanup(q.kill)
	return q
}

// kill ends the process as SIGKILL does: nothing more is written or sent.
func (p *process) kill() {
	p.f.set(always(errLost), nil)
	_ = p.j.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = p.stop(ctx)
	p.f.end()
	_ = p.f.Table.Close()
}

// stop ends the process as SIGTERM does.
func (p *process) stop(ctx context.Context) error {
	p.closing <- struct{}{}
	defer func() { <-p.closing }()
	return p.Close(ctx)
}

// restart kills the process and starts the next one.
func (p *process) restart() *process {
	p.t.Helper()
	p.kill()
	return p.start()
}

func (p *process) open(o session.Options) (*session.Session, session.Token) {
	p.t.Helper()
	o.Peer = session.NoPeer()
	s, token, err := p.Open(o)
	if err != nil {
		p.t.Fatalf("open: %v", err)
	}
	return s, token
}

func (p *process) lookup(token session.Token) *session.Session {
	p.t.Helper()
	s, err := p.Lookup(token)
	if err != nil {
		p.t.Fatalf("the session is gone: %v", err)
	}
	return s
}

var patient = session.Options{Keepalive: 10 * time.Minute}

// other is another node over the same store.
func other(t *testing.T, p *process) *session.Session {
	t.Helper()
	c := &cluster{t: t, rows: p.store}
	b := memory.OpenTable(p.store, "other")
	m := session.New(b, session.Config{Clock: p.cfg.Clock})
	c.nodes = append(c.nodes, m)
	t.Cleanup(func() { _ = m.Close(context.Background()); _ = b.Close() })
	return c.open(0)
}

func TestRestartKeepsWhatIsHeld(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		o := patient
		o.Access = "of a token"
		s, token := p.open(o)
		l := mustAcquire(t, s, "x", session.Acquire{Thread: 7, Note: "backup"})
		mustAcquire(t, s, "x", session.Acquire{Thread: 7})
		before, _ := l.View()
		waiter := wait(t, other(t, p), "x", session.Acquire{Wait: 5 * time.Minute})
		p = p.restart()
		again := p.lookup(token)
		if again.ID() != s.ID() || again.UUID() != s.UUID() {
			t.Errorf("session %s, want %s", again.ID(), s.ID())
		}
		if got := again.Options().Access; got != o.Access {
			t.Errorf("opened with %q, want %q", got, o.Access)
		}
		l, err := again.Lease("x", 7)
		if err != nil {
			t.Fatal(err)
		}
		v, err := l.View()
		if err != nil || v.Fence != before.Fence || v.Count != 2 || v.Owner != before.Owner || v.Note != "backup" {
			t.Errorf("held as %+v, %v, want as before: %+v", v, err, before)
		}
		synctest.Wait()
		if v, err := l.View(); err != nil || v.State != session.StateHeld {
			t.Errorf("state %v, %v, want held once the store has confirmed it", v.State, err)
		}
		time.Sleep(4 * time.Minute) // it is renewed
		p = p.restart()
		again = p.lookup(token)
		if l, err = again.Lease("x", 7); err != nil || !held(l) {
			t.Fatalf("lost: %v, %v", err, l.Err())
		}
		synctest.Wait()
		if r, err := again.Release(t.Context(), "x", 7, true, ""); err != nil || r.Pending {
			t.Errorf("release = %+v, %v", r, err)
		}
		if next := within(t, 2*time.Second, waiter); next != nil && next.Fence() <= v.Fence {
			t.Errorf("next fence %d after %d", next.Fence(), v.Fence)
		}
	})
}

// Of a client that is gone the lock is free in the end, however often the gateway is restarted: what
// was renewed for it meanwhile it was not told. One that comes back is told anew.
func TestRestartsWithoutTheClient(t *testing.T) {
	for name, comesBack := range map[string]bool{"gone": false, "comes back": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := begin(t, memory.NewRows(), session.Config{})
				s, token := p.open(session.Options{Conns: true})
				if err := s.Attach(); err != nil {
					t.Fatal(err)
				}
				mustAcquire(t, s, "x", session.Acquire{})
				p = p.restart()
				if comesBack {
					if err := p.lookup(token).Attach(); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(15 * time.Second)
				p = p.restart()
				time.Sleep(17 * time.Second)
				if _, err := p.Lookup(token); (err == nil) != comesBack {
					t.Errorf("32 s after it was told to hold for 30: %v, want its session there: %v", err, comesBack)
				}
			})
		})
	}
}

func TestRestartAfterTheLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{TTL: 5 * time.Second})
		s, token := p.open(patient)
		l := mustAcquire(t, s, "x", session.Acquire{})
		fence := l.Fence()
		p.kill()
		time.Sleep(6 * time.Second)
		p = p.start()
		again := p.lookup(token)
		_, err := again.Lease("x", 1)
		wantCode(t, err, session.CodeLost)
		synctest.Wait()
		time.Sleep(time.Second)
		_, err = again.Lease("x", 1) // the name is free, and is not taken again
		wantCode(t, err, session.CodeLost)
		if next := mustAcquire(t, other(t, p), "x", session.Acquire{}); next.Fence() <= fence {
			t.Errorf("next fence %d after %d", next.Fence(), fence)
		}
	})
}

// A release that comes before the store has answered is sent after that.
func TestReleaseWhileReclaiming(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, token := p.open(patient)
		mustAcquire(t, s, "x", session.Acquire{})
		p.kill()
		p = p.startOver(always(errLost))
		r, err := p.lookup(token).Release(t.Context(), "x", 1, false, "")
		if err != nil || !r.Pending || r.FreeBy <= 0 {
			t.Errorf("release = %+v, %v, want pending", r, err)
		}
		p.f.set(nil, nil)
		time.Sleep(3 * time.Second)
		mustAcquire(t, other(t, p), "x", session.Acquire{})
	})
}

// Who asks a gateway that has stopped and left its holds to the next process is not told
// that they are free.
func TestStatusAfterTheStop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, _ := p.open(patient)
		mustAcquire(t, s, "x", session.Acquire{})
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if st, err := p.Inspect(t.Context(), "x"); err != nil || st.State != session.StateHeld {
			t.Errorf("status = %+v, %v, want held", st, err)
		}
	})
}

// So it is in each moment of the stop, also where there is much to read.
func TestStatusDuringTheStop(t *testing.T) {
	const others = 300
	for range 100 {
		p := begin(t, memory.NewRows(), session.Config{})
		s, _ := p.open(patient)
		mustAcquire(t, s, "x", session.Acquire{Shared: true})
		holdByOthers(t, p, "x", others)
		stopped := make(chan struct{})
		var asks sync.WaitGroup
		for range 4 {
			asks.Go(func() {
				for n := 0; n == 0 || !closed(stopped); n++ {
					if st, err := p.Glance(t.Context(), "x"); err != nil || st.Holders != others+1 {
						t.Errorf("%d hold it, %v, want %d", st.Holders, err, others+1)
						return
					}
				}
			})
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		close(stopped)
		asks.Wait()
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// holdByOthers has so many other nodes share name.
func holdByOthers(t *testing.T, p *process, name string, nodes int) {
	t.Helper()
	table := memory.OpenTable(p.store, "others")
	r, err := table.Look(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	w := ledger.Swap{Name: name, Base: r.Version, Record: r.Record}
	for i := range nodes {
		w.Record.Top++
		w.Record.Holds = append(w.Record.Holds, ledger.Hold{
			Node: fmt.Sprint("other", i), Mode: backend.Shared, Count: 1, ID: w.Record.Top, Block: w.Record.Top,
			Callers: []ledger.Caller{{Owner: "u:1", About: `{"node":"other","pid":1}`}},
		})
		w.Effects.Stamps = append(w.Effects.Stamps, ledger.Stamp{ID: w.Record.Top, TTL: time.Hour})
	}
	if r, err = table.Swap(t.Context(), w); err != nil || !r.Written {
		t.Fatalf("%+v, %v", r, err)
	}
}

// A message that comes before the process has taken up what it held gives nothing back.
func TestMessageBeforeThePast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, token := p.open(patient)
		mustAcquire(t, s, "x", session.Acquire{})
		got := wait(t, other(t, p), "x", session.Acquire{Wait: 10 * time.Second})
		p.kill()
		p.early = &ledger.Addressed{Name: "x", Message: ledger.Message{Kind: ledger.Look}}
		p = p.start()
		if l := <-got; l != nil {
			t.Error("another node was granted what is held here")
		}
		if l, err := p.lookup(token).Lease("x", 1); err != nil || !held(l) {
			t.Errorf("after the restart: %v", err)
		}
	})
}

// What was granted and not told is nobody's.
func TestRestartBeforeTheAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, _ := p.open(patient)
		p.f.set(nil, always(errLost, "acquire"))
		wait(t, s, "x", session.Acquire{Wait: time.Minute})
		waiter := wait(t, other(t, p), "x", session.Acquire{Wait: time.Minute})
		p.restart()
		within(t, time.Second, waiter)
	})
}

// Who waited is not in the store's queue any more.
func TestRestartWhileWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		holder := other(t, p)
		mustAcquire(t, holder, "x", session.Acquire{})
		s, _ := p.open(patient)
		wait(t, s, "x", session.Acquire{Wait: time.Minute})
		p = p.restart()
		synctest.Wait()
		if st, err := p.Inspect(t.Context(), "x"); err != nil || st.Waiters != 0 {
			t.Errorf("waiters = %d, %v, want none", st.Waiters, err)
		}
		mustRelease(t, holder, "x")
		s, _ = p.open(patient)
		mustAcquire(t, s, "x", session.Acquire{})
	})
}

func TestRestartGivesAnswersAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, token := p.open(patient)
		first := mustAcquire(t, s, "x", session.Acquire{Key: "a"}).Fence()
		mustAcquire(t, s, "x", session.Acquire{Key: "b"})
		if r, err := s.Release(t.Context(), "x", 1, false, "c"); err != nil || r.Count != 1 {
			t.Fatalf("release = %+v, %v", r, err)
		}
		_, err := other(t, p).Acquire(t.Context(), "x", session.Acquire{Key: "d"})
		wantCode(t, err, session.CodeLocked)
		_, err = s.Release(t.Context(), "y", 1, false, "e")
		wantCode(t, err, session.CodeNotOwner)
		p = p.restart()
		s = p.lookup(token)
		for key, isNew := range map[string]bool{"a": true, "b": false} {
			g, err := s.Acquire(t.Context(), "x", session.Acquire{Key: key})
			if err != nil || g.Lease.Fence() != first || g.New != isNew {
				t.Errorf("repeat of %s: %+v, %v, want fence %d, new %v", key, g, err, first, isNew)
			}
		}
		if r, err := s.Release(t.Context(), "x", 1, false, "c"); err != nil || r.Count != 1 {
			t.Errorf("repeat of the release = %+v, %v, want 1 left", r, err)
		}
		_, err = s.Release(t.Context(), "y", 1, false, "e")
		wantCode(t, err, session.CodeNotOwner)
		_, err = s.Acquire(t.Context(), "z", session.Acquire{Key: "a"})
		wantCode(t, err, session.CodeConflict)
		l, _ := s.Lease("x", 1)
		if v, err := l.View(); err != nil || v.Count != 1 {
			t.Errorf("count = %d, %v, want 1", v.Count, err)
		}
		if r, err := s.Release(t.Context(), "x", 1, false, "f"); err != nil || r.Count != 0 {
			t.Errorf("release = %+v, %v", r, err)
		}
		p = p.restart()
		s = p.lookup(token)
		if r, err := s.Release(t.Context(), "x", 1, false, "f"); err != nil || r.Count != 0 {
			t.Errorf("repeat of the last release = %+v, %v", r, err)
		}
		g, err := s.Acquire(t.Context(), "x", session.Acquire{Key: "a"})
		if err != nil || g.Lease.Fence() != first {
			t.Errorf("repeat of what is over: %+v, %v, want fence %d", g, err, first)
		}
		_, err = g.Lease.View()
		wantCode(t, err, session.CodeNotOwner)
	})
}

// The same key opens the same session, before and after a restart.
func TestOpenByKey(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		o := session.Options{OneLock: true, MaxHold: time.Hour, Key: "job-1"}
		s, token := p.open(o)
		if _, same := p.open(o); same != token {
			t.Error("another token for the same key")
		}
		o.Key = "job-2"
		if _, other := p.open(o); other == token {
			t.Error("the same token for another key")
		}
		mustAcquire(t, s, "x", session.Acquire{Key: "job-1"})
		p = p.restart()
		o.Key = "job-1"
		bound := o
		bound.Peer, bound.Process = session.NoPeer(), session.Process{PID: 1, Started: 2}
		_, _, err := p.Open(bound)
		wantCode(t, err, session.CodeConflict)
		again, same := p.open(o)
		if same != token || again.ID() != s.ID() {
			t.Error("another session for the same key after a restart")
		}
		g, err := again.Acquire(t.Context(), "x", session.Acquire{Key: "job-1"})
		if v, over := g.Lease.View(); err != nil || over != nil || v.Count != 1 {
			t.Errorf("repeat = %+v, %v, %v, want the first answer", v, err, over)
		}
	})
}

// The next session of a key has a token of its own: a late request of the one before does
// nothing to it, also after a restart.
func TestTokenOfAnEarlierSessionOfTheKey(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		o := session.Options{OneLock: true, MaxHold: time.Hour, Key: "job"}
		s, old := p.open(o)
		s.End(t.Context(), "test")
		_, token := p.open(o)
		for range 2 {
			if _, err := p.Lookup(old); err == nil {
				t.Error("the token of the earlier session finds the present one")
			}
			if _, same := p.open(o); same != token {
				t.Error("a repeat is told another token")
			}
			p = p.restart()
		}
	})
}

// What a session lives by decides whether it is there after a restart.
func TestRestartAsksForLife(t *testing.T) {
	never := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for _, tt := range []struct {
		what   string
		o      session.Options
		rebind error         // the process is gone
		back   bool          // a connection comes back
		lives  time.Duration // for how long, at least; 0: not at all
		ends   time.Duration // by when at the latest, 0: not
	}{
		{"keepalive", session.Options{Keepalive: time.Minute}, nil, false, 55 * time.Second, 65 * time.Second},
		{"process", session.Options{Alive: never, Process: session.Process{PID: 1, Started: 2}}, nil, false, time.Hour, 0},
		{"process that is gone", session.Options{Alive: never, Process: session.Process{PID: 1, Started: 2}}, errors.New("gone"), false, 0, time.Second},
		{"connections", session.Options{Conns: true, TTL: 5 * time.Second}, nil, false, 9 * time.Second, 11 * time.Second},
		{"connections, relied on for longer", session.Options{Conns: true}, nil, false, 29 * time.Second, 31 * time.Second},
		{"connections, and one comes back", session.Options{Conns: true}, nil, true, time.Hour, 0},
		{"the connection of a request", session.Options{Alive: never, OneLock: true, TTL: 5 * time.Second}, nil, false, 9 * time.Second, 11 * time.Second},
		{"max_hold", session.Options{OneLock: true, MaxHold: time.Minute}, nil, false, 55 * time.Second, 61 * time.Second},
	} {
		t.Run(tt.what, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				cfg := session.Config{Rebind: func(is session.Process, _ session.Peer) (session.Liveness, error) {
					if is != tt.o.Process {
						t.Errorf("rebind %+v, want %+v", is, tt.o.Process)
					}
					return never, tt.rebind
				}}
				p := begin(t, memory.NewRows(), cfg)
				s, token := p.open(tt.o)
				mustAcquire(t, s, "x", session.Acquire{})
				p = p.restart()
				began := time.Now()
				if again, err := p.Lookup(token); tt.back && (err != nil || again.Attach() != nil) {
					t.Fatalf("attach: %v", err)
				}
				var gone time.Duration
				for time.Since(began) < 2*time.Hour && gone == 0 {
					time.Sleep(500 * time.Millisecond)
					st, err := p.Inspect(t.Context(), "x")
					if err != nil {
						t.Fatal(err)
					}
					if st.State == session.StateFree {
						gone = time.Since(began)
					}
				}
				if gone != 0 && gone < tt.lives || tt.ends != 0 && (gone == 0 || gone > tt.ends) || tt.ends == 0 && gone != 0 {
					t.Errorf("free after %v, want after %v to %v", gone, tt.lives, tt.ends)
				}
			})
		})
	}
}

// Until the store has confirmed it, a hold is in jeopardy; it ends at its deadline.
func TestRestartWithoutStore(t *testing.T) {
	for _, back := range []bool{true, false} {
		t.Run(fmt.Sprint(back), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := begin(t, memory.NewRows(), session.Config{TTL: 10 * time.Second})
				s, token := p.open(patient)
				mustAcquire(t, s, "x", session.Acquire{})
				p.kill()
				p = p.startOver(always(errLost))
				l, err := p.lookup(token).Lease("x", 1)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
				if v, err := l.View(); err != nil || v.State != session.StateJeopardy {
					t.Errorf("%v, %v, want jeopardy", v.State, err)
				}
				if back {
					p.f.set(nil, nil)
				}
				time.Sleep(6 * time.Second)
				if held(l) != back {
					t.Errorf("held = %v after the deadline, store back = %v: %v", held(l), back, l.Err())
				}
			})
		})
	}
}

// An answer that comes after the deadline revives nothing, whichever timer is late.
func TestRestartHearsTooLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		clock := new(jumpy)
		p := begin(t, memory.NewRows(), session.Config{Clock: clock.now})
		s, token := p.open(patient)
		mustAcquire(t, s, "x", session.Acquire{})
		p.kill()
		time.Sleep(25 * time.Second) // of the lease of 30 s
		p = p.startOver(func(verb string) error {
			if verb == "write" {
				clock.jump(10 * time.Second)
			}
			return nil
		})
		synctest.Wait()
		_, err := p.lookup(token).Lease("x", 1)
		wantCode(t, err, session.CodeLost)
	})
}

// The store in memory ends with the process, and is told again what was held.
func TestRestartOfTheEmbeddedStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, token := p.open(patient)
		l := mustAcquire(t, s, "x", session.Acquire{})
		fence := l.Fence()
		p.store = memory.NewRows()
		p.store.Clock = p.cfg.Clock
		p = p.restart()
		newcomer, _ := p.open(patient)
		_, err := newcomer.Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeLocked)
		time.Sleep(time.Minute)
		again := p.lookup(token)
		if l, err := again.Lease("x", 1); err != nil || l.Fence() != fence || !held(l) {
			t.Fatalf("lease: %v", err)
		}
		mustRelease(t, again, "x")
		if next := mustAcquire(t, newcomer, "x", session.Acquire{}); next.Fence() <= fence {
			t.Errorf("next fence %d after %d", next.Fence(), fence)
		}
	})
}

func TestRestartKeepsMinHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, _ := p.open(patient)
		mustAcquire(t, s, "x", session.Acquire{MinHold: 30 * time.Second})
		mustRelease(t, s, "x")
		before, err := p.Inspect(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		p = p.restart()
		after, err := p.Inspect(t.Context(), "x")
		if err != nil || after.Holder == nil || after.Holder.Owner != before.Holder.Owner {
			t.Errorf("holder = %+v, %v, want %+v as before", after.Holder, err, before.Holder)
		}
		newcomer := other(t, p)
		time.Sleep(25 * time.Second)
		_, err = newcomer.Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeLocked)
		time.Sleep(6 * time.Second)
		mustAcquire(t, newcomer, "x", session.Acquire{})
	})
}

// A fixed lease does not last longer for a restart, and max_hold neither.
func TestRestartMovesNoBound(t *testing.T) {
	for _, a := range []session.Acquire{
		{TTL: 10 * time.Second, Fixed: true},
		{MaxHold: 10 * time.Second},
	} {
		bubble(t, func(t *testing.T) {
			p := begin(t, memory.NewRows(), session.Config{})
			s, token := p.open(patient)
			mustAcquire(t, s, "x", a)
			time.Sleep(5 * time.Second)
			p = p.restart()
			l, err := p.lookup(token).Lease("x", 1)
			if err != nil || !held(l) {
				t.Fatalf("lease: %v", err)
			}
			time.Sleep(5100 * time.Millisecond)
			if held(l) {
				t.Errorf("%+v: held beyond its bound", a)
			}
			mustAcquire(t, other(t, p), "x", session.Acquire{})
		})
	}
}

// A lease that was made longer is so after a restart, and no longer than that.
func TestRestartKeepsARenewal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, token := p.open(patient)
		mustAcquire(t, s, "x", session.Acquire{TTL: 2 * time.Second, Fixed: true})
		if _, err := s.Renew(t.Context(), "x", 1, 10*time.Second); err != nil {
			t.Fatal(err)
		}
		p = p.restart()
		l, err := p.lookup(token).Lease("x", 1)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(9 * time.Second)
		if !held(l) {
			t.Errorf("lost before its end: %v", l.Err())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		wantCode(t, l.Err(), session.CodeLost)
	})
}

// Nor does it in the store, should the next process die, too.
func TestRestartsKeepAFixedLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, _ := p.open(patient)
		mustAcquire(t, s, "x", session.Acquire{TTL: 10 * time.Second, Fixed: true})
		time.Sleep(5 * time.Second)
		p = p.restart()
		time.Sleep(time.Second)
		p.kill()
		newcomer := other(t, p)
		time.Sleep(3 * time.Second)
		_, err := newcomer.Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeLocked)
		time.Sleep(1200 * time.Millisecond)
		mustAcquire(t, newcomer, "x", session.Acquire{})
	})
}

// What ends a hold does so though the store has not answered yet, and what follows a
// loss does once it has.
func TestRestartWithoutStoreMovesNoBound(t *testing.T) {
	for _, a := range []session.Acquire{
		{TTL: 10 * time.Second},
		{TTL: 10 * time.Second, Fixed: true},
		{TTL: time.Minute, MaxHold: 10 * time.Second},
	} {
		for _, delay := range []time.Duration{0, 20 * time.Second} {
			bubble(t, func(t *testing.T) {
				p := begin(t, memory.NewRows(), session.Config{Delay: delay})
				s, token := p.open(patient)
				mustAcquire(t, s, "x", a)
				p.kill()
				p = p.startOver(always(errLost))
				l, err := p.lookup(token).Lease("x", 1)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(9500 * time.Millisecond)
				if !held(l) {
					t.Fatalf("%+v: %v before its time", a, l.Err())
				}
				time.Sleep(600 * time.Millisecond)
				wantCode(t, l.Err(), session.CodeLost)
				p.f.set(nil, nil)
				next := wait(t, other(t, p), "x", session.Acquire{Wait: 2 * time.Minute})
				began := time.Now()
				within(t, time.Minute, next)
				if took := time.Since(began); took < delay && a.MaxHold > 0 {
					t.Errorf("%+v: the name was granted %v after the loss, want a delay of %v", a, took, delay)
				}
			})
		}
	}
}

func TestRestartInStrictMode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{Fairness: session.Fairness{Strict: true}})
		s, token := p.open(patient)
		mustAcquire(t, s, "x", session.Acquire{})
		wait(t, s, "x", session.Acquire{Thread: 2, Wait: time.Minute})
		p = p.restart()
		again := p.lookup(token)
		if l, err := again.Lease("x", 1); err != nil || !held(l) {
			t.Fatalf("lease: %v", err)
		}
		next := wait(t, again, "x", session.Acquire{Thread: 3, Wait: time.Minute})
		mustRelease(t, again, "x")
		within(t, time.Second, next)
	})
}

// Released, lost and never granted leave nothing to the next process.
func TestRestartAfterAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, token := p.open(patient)
		for range 3 {
			mustAcquire(t, s, "x", session.Acquire{})
			mustRelease(t, s, "x")
		}
		l := mustAcquire(t, s, "y", session.Acquire{MaxHold: time.Second})
		<-l.Done()
		synctest.Wait()
		gone, other := p.open(patient)
		mustAcquire(t, gone, "z", session.Acquire{})
		gone.End(t.Context(), "done")
		synctest.Wait()
		p.kill()
		j, past, err := journal.Open(p.dir)
		if err != nil {
			t.Fatal(err)
		}
		_ = j.Close()
		if len(past.Sessions) != 1 {
			t.Errorf("%d sessions, want one", len(past.Sessions))
		}
		for k, place := range past.Places { // which the next process asks for in vain
			if place.Turn != nil {
				t.Errorf("%s is held by %+v", k.Name, place.Turn)
			}
		}
		p = p.start()
		_, err = p.lookup(token).Lease("y", 1)
		wantCode(t, err, session.CodeLost)
		_, err = p.Lookup(other)
		wantCode(t, err, session.CodeNoSession)
	})
}

// A process that ends by itself leaves the next one nothing to ask for.
func TestStopLeavesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, _ := p.open(patient)
		for i := range 2000 {
			name := fmt.Sprint(i % 1500)
			mustAcquire(t, s, name, session.Acquire{})
			mustRelease(t, s, name)
		}
		s.End(t.Context(), "done")
		synctest.Wait()
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		_ = p.j.Close()
		j, past, err := journal.Open(p.dir)
		if err != nil {
			t.Fatal(err)
		}
		_ = j.Close()
		if len(past.Places)+len(past.Sessions) != 0 {
			t.Errorf("%d places, %d sessions; want none", len(past.Places), len(past.Sessions))
		}
	})
}

// While a gateway that keeps what is held goes away, nobody is told that a hold is over, or
// that it was given back: the next process has it.
func TestStopLeavesHolds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, token := p.open(patient)
		l := mustAcquire(t, s, "x", session.Acquire{})
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, viewed := l.View()
		_, listed := s.Views()
		for what, err := range map[string]error{"view": viewed, "views": listed, "err": l.Err()} {
			if session.CodeOf(err) != session.CodeDraining {
				t.Errorf("%s: %v, want that the gateway is going away", what, err)
			}
		}
		select {
		case <-l.Done():
			t.Error("the hold is over")
		default:
		}
		if left := p.restart().lookup(token).Leases(); len(left) != 1 || left[0].Fence() != l.Fence() {
			t.Errorf("the next process has %v", left)
		}
	})
}

// A change of the entries that is under way, and of which nobody was told, is not taken up by
// the next process because the lease has become longer meanwhile: the client repeats it there.
func TestRestartBeforeTheEntriesAreTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, enters := range []bool{true, false} {
			p := begin(t, memory.NewRows(), session.Config{})
			s, token := p.open(patient)
			mustAcquire(t, s, "x", session.Acquire{})
			mustAcquire(t, s, "x", session.Acquire{})
			p.f.set(func(verb string) error {
				if verb == "write" {
					time.Sleep(time.Second)
					return errLost
				}
				return nil
			}, nil)
			change := func(s *session.Session) error {
				if enters {
					_, err := s.Acquire(context.Background(), "x", session.Acquire{Key: "k"})
					return err
				}
				_, err := s.Release(context.Background(), "x", 1, false, "k")
				return err
			}
			done := make(chan error, 1)
			go func() { done <- change(s) }()
			synctest.Wait()
			renewed := make(chan struct{})
			go func() { // it is written down at once, and counts after the write only
				defer close(renewed)
				_, _ = s.Renew(context.Background(), "x", 1, time.Minute)
			}()
			synctest.Wait()
			p = p.restart()
			<-done
			<-renewed
			s = p.lookup(token)
			synctest.Wait()
			if err := change(s); err != nil {
				t.Fatal(err)
			}
			want := map[bool]int{true: 3, false: 1}[enters]
			l, err := s.Lease("x", 1)
			if err != nil {
				t.Errorf("enters %v: %v, want it held %d times", enters, err, want)
				continue
			}
			if v, err := l.View(); err != nil || v.Count != want {
				t.Errorf("enters %v: held %d times, %v, want %d", enters, v.Count, err, want)
			}
		}
	})
}
