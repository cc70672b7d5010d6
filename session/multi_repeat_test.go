package session_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

func TestRepeatedAcquireAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, token := p.open(patient)
		a := session.Acquire{Key: "k"}
		var fences [2]uint64
		for i, g := range mustAcquireAll(t, s, a, "b", "a") {
			fences[i] = uint64(g.Lease.Fence())
		}
		check := func() {
			t.Helper()
			for i, g := range mustAcquireAll(t, s, a, "b", "a") {
				v, err := g.Lease.View()
				if err != nil || v.Count != 1 || uint64(v.Fence) != fences[i] {
					t.Errorf("repeat: %+v, %v, want fence %d and count 1", v, err, fences[i])
				}
			}
		}
		conflicts := func() {
			t.Helper()
			_, err := s.AcquireAll(t.Context(), []string{"a", "c"}, a)
			wantCode(t, err, session.CodeConflict)
			for _, other := range []session.Acquire{{Key: "k", Shared: true}, {Key: "k", Limit: 2}, {Key: "k", TTL: 10 * time.Second}} {
				_, err = s.AcquireAll(t.Context(), []string{"b", "a"}, other)
				wantCode(t, err, session.CodeConflict)
			}
			_, err = s.ReleaseAll(t.Context(), []string{"a", "b"}, 1, "k")
			wantCode(t, err, session.CodeConflict)
		}
		check()
		conflicts()
		p = p.restart()
		s = p.lookup(token)
		conflicts()
		check()
		check()

		// What is over by now is not acquired anew, and nothing that is held is touched.
		for range 2 {
			if done, err := s.ReleaseAll(t.Context(), []string{"a"}, 1, "r"); err != nil || !slices.Equal(done.Released, []string{"a"}) {
				t.Errorf("release = %+v, %v, want a", done, err)
			}
		}
		p = p.restart()
		s = p.lookup(token)
		if done, err := s.ReleaseAll(t.Context(), []string{"a"}, 1, "r"); err != nil || !slices.Equal(done.Released, []string{"a"}) {
			t.Errorf("release after a restart = %+v, %v, want a", done, err)
		}
		gs := mustAcquireAll(t, s, a, "b", "a")
		if !held(gs[0].Lease) || held(gs[1].Lease) {
			t.Errorf("b: %v, a: %v, want b held and a over", gs[0].Lease.Err(), gs[1].Lease.Err())
		}
	})
}

// A process that is killed while a request waits for its second name leaves nothing of the first
// one, which the repeat of the request takes anew.
func TestRepeatOfHalfAnAcquireAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		other := other(t, p)
		s, token := p.open(patient)
		mustAcquire(t, other, "b", session.Acquire{})
		a := session.Acquire{Key: "k", Wait: time.Minute}
		done := acquireAll(s, a, "a", "b")
		p = p.restart()
		<-done
		s = p.lookup(token)
		got := make(chan []session.Grant, 1)
		go func() {
			gs, err := s.AcquireAll(context.Background(), []string{"a", "b"}, a)
			if err != nil {
				t.Errorf("repeat: %v", err)
			}
			got <- gs
		}()
		synctest.Wait()
		mustRelease(t, other, "b")
		for _, g := range <-got {
			if v, err := g.Lease.View(); err != nil || v.Count != 1 {
				t.Errorf("%+v, %v, want it held once", v, err)
			}
		}
	})
}

// halfHeld is a process, a session of it that holds a, and one of another node that holds b.
func halfHeld(t *testing.T) (p *process, holder, s *session.Session, token session.Token) {
	t.Helper()
	p = begin(t, memory.NewRows(), session.Config{})
	s, token = p.open(patient)
	mustAcquire(t, s, "a", session.Acquire{})
	holder = other(t, p)
	mustAcquire(t, holder, "b", session.Acquire{})
	return p, holder, s, token
}

// inVain asks for a and b, is refused with that code, and holds a as before.
func inVain(t *testing.T, s *session.Session, a session.Acquire, want session.Code) {
	t.Helper()
	_, err := s.AcquireAll(t.Context(), []string{"a", "b"}, a)
	wantCode(t, err, want)
	l, err := s.Lease("a", 1)
	if err != nil {
		t.Fatalf("a is not held any more, which only the request had to give back: %v", err)
	}
	if v, err := l.View(); err != nil || v.Count != 1 {
		t.Errorf("a: %+v, %v, want it held once, as before the request", v, err)
	}
}

// What a request has given back, because it did not get all of its names, a repeat of it after a
// restart takes again: the session's own entry is not the one that the request had.
func TestRepeatOfAnAcquireAllThatGaveBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, other, s, token := halfHeld(t)
		a := session.Acquire{Key: "k"}
		for range 2 {
			inVain(t, s, a, session.CodeLocked)
			p = p.restart()
			s = p.lookup(token)
		}
		mustRelease(t, other, "b")
		for i, g := range mustAcquireAll(t, s, a, "a", "b") {
			if v, err := g.Lease.View(); err != nil || v.Count != 2-i {
				t.Errorf("%s: entered %d times, %v, want %d", v.Name, v.Count, err, 2-i)
			}
		}
	})
}

// What the process before had got for a request is given back once, however often the request is
// repeated in vain.
func TestRepeatsOfHalfAnAcquireAllInVain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, _, s, token := halfHeld(t)
		a := session.Acquire{Key: "k", Wait: time.Minute}
		done := acquireAll(s, a, "a", "b")
		synctest.Wait()
		p = p.restart()
		<-done
		s = p.lookup(token)
		for range 2 {
			inVain(t, s, a, session.CodeWaitTimeout)
		}
	})
}

// A late repeat of "release everything" leaves alone what the session took since.
func TestRepeatedReleaseOfEverything(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, token := p.open(patient)
		mustAcquireAll(t, s, session.Acquire{}, "a", "b")
		for range 2 {
			if done, err := s.ReleaseAll(t.Context(), nil, 1, "k"); err != nil || len(done.Released) != 2 {
				t.Errorf("release = %+v, %v, want a and b", done, err)
			}
		}
		mustAcquire(t, s, "c", session.Acquire{})
		p = p.restart()
		s = p.lookup(token)
		if done, err := s.ReleaseAll(t.Context(), nil, 1, "k"); err != nil || len(done.Released) != 0 {
			t.Errorf("repeat after a restart = %+v, %v, want nothing done", done, err)
		}
		if _, err := s.Lease("c", 1); err != nil {
			t.Errorf("c: %v, want it held", err)
		}
	})
}

// A session that is opened for several locks leaves nothing behind when the process is
// killed before anybody was told of it; and everything after that.
func TestRestartDuringAcquireAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, key := range []string{"", "k"} {
			p := begin(t, memory.NewRows(), session.Config{})
			other := other(t, p)
			o, a := session.Options{OneLock: true, MaxHold: time.Hour, Key: key}, session.Acquire{Key: key, Wait: time.Minute}
			s, _ := p.open(o)
			mustAcquire(t, other, "b", session.Acquire{})
			done := acquireAll(s, a, "a", "b")
			time.Sleep(25 * time.Second) // a was renewed
			p = p.restart()
			<-done
			mustAcquire(t, other, "a", session.Acquire{Wait: 5 * time.Second})
			mustRelease(t, other, "a")
			mustRelease(t, other, "b")

			s, token := p.open(o)
			fence := mustAcquireAll(t, s, a, "a", "b")[0].Lease.Fence()
			p = p.restart()
			s = p.lookup(token)
			for _, l := range s.Leases() {
				if v, err := l.View(); err != nil || v.Count != 1 {
					t.Errorf("after a restart: %+v, %v, want it held once", v, err)
				}
			}
			if key != "" {
				if g := mustAcquireAll(t, s, a, "a", "b")[0]; g.Lease.Fence() != fence || !held(g.Lease) {
					t.Errorf("repeat: fence %d, %v, want %d held", g.Lease.Fence(), g.Lease.Err(), fence)
				}
			}
			if n := len(s.Leases()); n != 2 {
				t.Errorf("%d holds after a restart, want 2", n)
			}
		}
	})
}

// Nor does one that somebody knows of have anything of it in the next process: a client that asks
// again, and releases as often, would leave a lock behind. What it has entered by another request
// meanwhile it has.
func TestRestartDuringAcquireAllOfAKnownSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for name, tt := range map[string]struct {
			o                       session.Options
			holds, entered, renewed bool
		}{
			"lives on":             {o: patient},
			"has a lock already":   {o: session.Options{OneLock: true, MaxHold: time.Hour}, holds: true},
			"another request came": {o: patient, entered: true},
			"its lease is longer":  {o: patient, renewed: true},
		} {
			p := begin(t, memory.NewRows(), session.Config{})
			other := other(t, p)
			s, token := p.open(tt.o)
			if tt.holds {
				mustAcquire(t, s, "c", session.Acquire{})
			}
			mustAcquire(t, other, "b", session.Acquire{})
			done := acquireAll(s, session.Acquire{Wait: time.Minute}, "a", "b")
			if tt.entered {
				mustAcquire(t, s, "a", session.Acquire{})
			}
			if tt.renewed {
				if _, err := s.Renew(t.Context(), "a", 1, time.Minute); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(25 * time.Second) // the watchdog has renewed a
			p = p.restart()
			<-done
			s = p.lookup(token)
			if _, err := s.Lease("a", 0); (err == nil) != (tt.entered || tt.renewed) {
				t.Errorf("%s: a: %v", name, err)
			}
			if _, err := s.Lease("c", 0); (err == nil) != tt.holds {
				t.Errorf("%s: c: %v", name, err)
			}
			mustRelease(t, other, "b")
			if tt.entered || tt.renewed {
				continue
			}
			mustAcquireAll(t, s, session.Acquire{Wait: time.Minute}, "a", "b")
			if _, err := s.ReleaseAll(t.Context(), []string{"a", "b"}, 1, ""); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			mustAcquire(t, other, "a", session.Acquire{Wait: time.Second})
		}
	})
}

// A process that is killed while it writes down that its next one is to have all of the locks, of
// which nobody was told, leaves the rest of them to the repeat of the request.
func TestKilledAtTheEndOfAnAcquireAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, token := p.open(session.Options{OneLock: true, Keepalive: 10 * time.Minute})
		a := session.Acquire{Key: "k"}
		mustAcquireAll(t, s, a, "a", "b")
		p.kill()
		cutJournal(t, p.dir, 2) // the turn of b, and the answer in which it is told
		p = p.start()
		s = p.lookup(token)
		if n := len(s.Leases()); n != 1 {
			t.Fatalf("%d holds are in a journal that breaks off, want 1", n)
		}
		for _, g := range mustAcquireAll(t, s, a, "a", "b") {
			if v, err := g.Lease.View(); err != nil || v.Count != 1 {
				t.Errorf("repeat: %+v, %v, want it held once", v, err)
			}
		}
	})
}

// cutJournal takes the last n records from the journal in dir.
func cutJournal(t *testing.T, dir string, n int) {
	t.Helper()
	path := filepath.Join(dir, "journal")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const prefix = 12 // its length and two sums
	ends := []int{bytes.IndexByte(b, '\n') + 1}
	for at := ends[0]; at < len(b); ends = append(ends, at) {
		at += prefix + int(binary.LittleEndian.Uint32(b[at:]))
	}
	if err := os.Truncate(path, int64(ends[len(ends)-1-n])); err != nil {
		t.Fatal(err)
	}
}
