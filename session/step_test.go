package session_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

// diary is a historian that keeps what it is told.
type diary struct {
	mu    sync.Mutex
	steps []session.Step
}

func (d *diary) Record(s session.Step) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.steps = append(d.steps, s)
}

// of are the steps about lock so far.
func (d *diary) of(lock string) []session.Step {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(d.steps), func(s session.Step) bool { return s.Lock != lock })
}

func kinds(steps []session.Step) []session.StepKind {
	var out []session.StepKind
	for _, s := range steps {
		out = append(out, s.Kind)
	}
	return out
}

// The historian is told of each caller's way, with who had the lock meanwhile.
func TestHistorian(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &diary{}
		c := newCluster(t, 2, session.Config{History: d}, nil)
		there, here := c.open(1), c.open(0)
		mustAcquire(t, there, "x", session.Acquire{Note: "rsync"})
		waiting := wait(t, here, "x", session.Acquire{Wait: time.Minute, Note: "backup"})
		time.Sleep(time.Second)
		mustRelease(t, there, "x")
		within(t, time.Second, waiting)
		time.Sleep(time.Second)
		mustRelease(t, here, "x")

		steps := d.of("x")
		want := []session.StepKind{
			session.StepGranted, session.StepSeen, session.StepWaits, session.StepReleased, session.StepGranted, session.StepReleased,
		}
		if !slices.Equal(kinds(steps), want) {
			t.Fatalf("steps %v, want %v", kinds(steps), want)
		}
		if seen := steps[1]; seen.Who.Note != "rsync" || seen.Who.Node == "" {
			t.Errorf("seen %+v, want who holds it on the other node", seen)
		}
		waits, granted, released := steps[2], steps[4], steps[5]
		if waits.Behind == nil || waits.Behind.Note != "rsync" || waits.Who.Note != "backup" {
			t.Errorf("waits %+v, want it behind the holder of the other node", waits)
		}
		if !granted.Asked.Equal(waits.Asked) || granted.Who.Since.Sub(granted.Asked) < time.Second || granted.Fence == 0 {
			t.Errorf("granted %+v, want when it asked, a second before, and the fence", granted)
		}
		if released.Fence != granted.Fence || released.Reason != "" || released.Time.Sub(granted.Who.Since) < time.Second {
			t.Errorf("released %+v, want the same hold a second later", released)
		}
	})
}

// What was refused, lost or ended with its session is told as that.
func TestHistorianEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &diary{}
		c := newCluster(t, 1, session.Config{History: d}, nil)
		holder, other := c.open(0), c.open(0)
		l := mustAcquire(t, holder, "x", session.Acquire{})
		_, _ = other.Acquire(t.Context(), "x", session.Acquire{})
		gone, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _ = other.Acquire(gone, "x", session.Acquire{Wait: time.Minute})
		if err := c.nodes[0].Break(t.Context(), "x", l.Fence(), "", "a test"); err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, other, "x", session.Acquire{})
		other.End(t.Context(), "process 9 has exited")

		var got []string
		for _, s := range d.of("x") {
			if s.Kind == session.StepRefused || s.Kind == session.StepLost || s.Kind == session.StepReleased {
				got = append(got, s.Reason)
			}
			if s.Kind == session.StepRefused && s.Reason == "locked" && (s.Behind == nil || s.Behind.Owner != l.Owner()) {
				t.Errorf("refused behind %+v, want the holder", s.Behind)
			}
		}
		if want := []string{"locked", session.ReasonHungUp, session.LossBroken, "process 9 has exited"}; !slices.Equal(got, want) {
			t.Errorf("reasons %q, want %q", got, want)
		}
	})
}

// Of a hold that was in jeopardy when it was let go, the historian is told by what.
func TestHistorianJeopardy(t *testing.T) {
	for _, tt := range []struct {
		how  string
		end  func(s *session.Session)
		want string
	}{
		{"released", func(s *session.Session) { _, _ = s.Release(context.Background(), "x", 1, false, "") }, "in jeopardy: store unavailable: a test"},
		{"ended", func(s *session.Session) { s.End(context.Background(), "process 9 has exited") }, "process 9 has exited; in jeopardy: store unavailable: a test"},
	} {
		t.Run(tt.how, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				d := &diary{}
				down := func(verb string) error {
					if verb == "renew" {
						return fmt.Errorf("%w: a test", backend.ErrUnavailable)
					}
					return nil
				}
				c := newCluster(t, 1, session.Config{History: d}, hooked(&faulty{before: down}))
				s := c.open(0)
				mustAcquire(t, s, "x", session.Acquire{})
				time.Sleep(15 * time.Second)
				tt.end(s)
				steps := d.of("x")
				if last := steps[len(steps)-1]; last.Kind != session.StepReleased || last.Reason != tt.want {
					t.Errorf("step %d, reason %q; want %d, %q", last.Kind, last.Reason, session.StepReleased, tt.want)
				}
			})
		})
	}
}

// A hold was over at its deadline, however late that was noticed: another one may have had the lock since.
func TestHistorianLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d, n, clock := &diary{}, &notes{}, &jumpy{}
		c := newCluster(t, 1, session.Config{History: d, Observer: n, Clock: clock.now}, nil)
		l := mustAcquire(t, c.open(0), "x", session.Acquire{})
		began := time.Now()
		time.Sleep(55 * time.Second)
		v, err := l.View()
		if err != nil {
			t.Fatal(err)
		}
		clock.jump(v.Left + 20*time.Second)
		<-l.Done()
		late := clock.now() - v.Deadline
		if late < 20*time.Second {
			t.Fatalf("lost %v after the deadline, want 20s at least", late)
		}
		over := time.Now().Add(-late)
		steps := d.of("x")
		if last := steps[len(steps)-1]; last.Kind != session.StepLost || !last.Time.Equal(over) {
			t.Errorf("step %d at %v, want %d at %v", last.Kind, last.Time, session.StepLost, over)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		if len(n.ended) != 1 || n.ended[0].Held != over.Sub(began) {
			t.Errorf("ends = %+v, want one, after %v", n.ended, over.Sub(began))
		}
	})
}
