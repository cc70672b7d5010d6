package session_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

func backup(t *testing.T, what string, h *session.Holder) {
	t.Helper()
	if h == nil || h.PID != 7 || h.Command != "backup.sh" || h.AskedBy == nil || h.AskedBy.PID != 9 || h.AskedBy.Command != "curl" {
		t.Errorf("%s: holder %+v, want pid 7 (backup.sh), asked for by pid 9 (curl)", what, h)
	}
}

var helper = session.Peer{PID: 9, UID: 1, Command: "curl"}

// The process that a hold lives by is its holder, on every node and after a restart;
// beside it stands who asked.
func TestHolderIsTheBoundProcess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, nil)
		o := session.Options{Peer: helper, Process: session.Process{PID: 7, Started: 1, UID: 1, Command: "backup.sh"}}
		s, _, err := c.nodes[0].Open(o)
		if err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, s, "x", session.Acquire{})
		for i, m := range c.nodes {
			st, err := m.Inspect(t.Context(), "x")
			if err != nil {
				t.Fatal(err)
			}
			backup(t, "node "+string(rune('0'+i)), st.Holder)
		}
	})
}

// Nobody else has asked where the process that is shown has opened the session, or nobody is known
// to have, as over TCP.
func TestShowOfNobodyElse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		for _, opener := range []session.Peer{helper, session.NoPeer()} {
			s := c.open(0, session.Options{Peer: opener})
			mustAcquire(t, s, "x", session.Acquire{})
			s.Show(session.Process{PID: helper.PID, UID: helper.UID, Command: helper.Command})
			if st, err := c.nodes[0].Inspect(t.Context(), "x"); err != nil || st.Holder.Peer != helper || st.Holder.AskedBy != nil {
				t.Errorf("opened by %+v the holder is %+v, asked for by %+v, %v", opener, st.Holder, st.Holder.AskedBy, err)
			}
			mustRelease(t, s, "x")
		}
	})
}

// What is shown later counts for the holds that are there, also on other nodes and in
// the next process.
func TestShow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, _, err := p.Open(session.Options{Peer: helper, Keepalive: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, s, "x", session.Acquire{})
		near, _, err := p.Open(session.Options{Peer: session.NoPeer()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = near.Acquire(t.Context(), "x", session.Acquire{})
		if h := err.(*session.Error).Holder; h.Command != helper.Command {
			t.Errorf("before Show it is %+v", h)
		}
		s.Show(session.Process{PID: 7, UID: 1, Command: "backup.sh"})
		synctest.Wait()
		_, err = near.Acquire(t.Context(), "x", session.Acquire{})
		backup(t, "the same node", err.(*session.Error).Holder)
		far := other(t, p)
		_, err = far.Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeLocked)
		backup(t, "another node", err.(*session.Error).Holder)
		mustAcquire(t, s, "y", session.Acquire{})
		p = p.restart()
		synctest.Wait()
		for _, name := range []string{"x", "y"} {
			st, err := p.Inspect(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			backup(t, "after a restart, "+name, st.Holder)
		}
	})
}

// A lock that is lost is in the log of its node at the default level, with who had it
// and why it was lost.
func TestLossIsLogged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		var text bytes.Buffer
		log := slog.New(slog.NewTextHandler(writerFunc(func(b []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return text.Write(b)
		}), nil))
		c := newCluster(t, 1, session.Config{Log: log}, nil)
		s, _, err := c.nodes[0].Open(session.Options{Peer: helper})
		if err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, s, "nightly", session.Acquire{TTL: 2 * time.Second, Fixed: true, Note: "report"})
		time.Sleep(3 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		for _, want := range []string{"level=WARN", "lock=nightly", "reason=expired", "holder.pid=9", "holder.command=curl", "holder.note=report"} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("the log has no %s: %q", want, text.String())
			}
		}
	})
}

// The log tells of a lock that was not renewed by what that failed.
func TestLossIsLoggedWithItsCause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var text bytes.Buffer // read when the gateway is at rest
		fail := func(verb string) error {
			if verb == "renew" {
				return errLost
			}
			return nil
		}
		c := newCluster(t, 1, session.Config{TTL: 3 * time.Second, Log: slog.New(slog.NewTextHandler(&text, nil))}, hooked(&faulty{before: fail}))
		l := mustAcquire(t, c.open(0), "x", session.Acquire{})
		<-l.Done()
		synctest.Wait()
		if log := text.String(); !strings.Contains(log, "a lock was lost") || !strings.Contains(log, errLost.Error()) {
			t.Errorf("log = %q, want %q in it", log, errLost)
		}
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
