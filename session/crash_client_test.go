package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

// client takes names, goes on with them over the deaths of its gateway, and gives them back. One
// that lives by its connections deserts now and then.
func (c *crashes) client(t *testing.T, n *mortal, id int, byConns bool) {
	for round := range crashRounds {
		by := fmt.Sprintf("client %d round %d", id, round)
		deserts := byConns && c.random(3) == 0
		name := []string{"x", "x", "y", permits}[c.random(4)]
		if deserts {
			name = fmt.Sprintf("deserted-%d-%d", id, round)
		}
		o := session.Options{Peer: session.NoPeer(), Keepalive: 10 * time.Minute}
		if byConns {
			o.Keepalive, o.Conns = 0, true
		}
		p := n.alive()
		s, token, err := p.Open(o)
		if err == nil && byConns {
			err = s.Attach()
		}
		if n.now() != p || stopping(err) {
			continue
		}
		if err != nil {
			c.fault("%s: open: %v", by, err)
			return
		}
		k := &connection{c: c, n: n, p: p, s: s, token: token, by: by, byConns: byConns}
		k.work(t, name, deserts)
	}
}

// stopping: the gateway is about to end, and the next one is to be asked.
func stopping(err error) bool { return session.CodeOf(err) == session.CodeDraining }

// connection is a client's, with its session.
type connection struct {
	c       *crashes
	n       *mortal
	p       *process
	s       *session.Session
	token   session.Token
	by      string
	byConns bool
}

func (k *connection) work(t *testing.T, name string, deserts bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	a := k.c.wish(name)
	if !deserts && k.c.random(5) == 0 {
		k.workAll(ctx, t, a)
		return
	}
	g, err := k.s.Acquire(ctx, name, a)
	k.unheard()
	switch {
	case k.n.now() != k.p: // nobody has heard the answer
		if !k.join() {
			return
		}
		g, err = session.Grant{}, nil
		for _, l := range k.s.Leases() {
			g.Lease = l
		}
		if a.Key != "" {
			g, err = k.s.Acquire(ctx, name, a)
		}
		if k.n.now() != k.p || err != nil || g.Lease == nil {
			k.leave()
			return
		}
	case err != nil:
		k.c.say("%s: %v", k.by, err)
		k.leave()
		return
	}
	k.hold(t, g.Lease, a, deserts)
}

// wish is how a client wants name, in any way that there is.
func (c *crashes) wish(name string) session.Acquire {
	a := session.Acquire{Wait: time.Duration(c.random(8000)) * time.Millisecond, Shared: name == "y" && c.random(2) == 0}
	if name == permits {
		a.Limit = mostPermits
	}
	if c.random(2) == 0 {
		a.Key = "once"
	}
	if c.random(4) == 0 {
		a.MinHold = time.Duration(c.random(5000)) * time.Millisecond
	}
	a.Fixed = c.random(6) == 0
	if c.random(5) == 0 {
		a.MaxHold = a.MinHold + time.Duration(1+c.random(4000))*time.Millisecond
	}
	return a
}

// unheard has the gateway killed, now and then, when it has answered and before that is heard.
func (k *connection) unheard() {
	if k.c.random(8) == 0 {
		k.n.kill(k.p)
	}
}

// join goes on with the session at the gateway's next process; false: it is gone.
func (k *connection) join() bool {
	for {
		p := k.n.alive()
		s, err := p.Lookup(k.token)
		if err == nil && k.byConns {
			err = s.Attach()
		}
		if k.n.now() != p || stopping(err) {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		k.p, k.s = p, s
		return err == nil
	}
}

func (k *connection) leave() {
	if k.s == nil || k.n.now() != k.p {
		return
	}
	if k.byConns {
		k.s.Detach("done")
		return
	}
	k.s.End(context.Background(), "done")
}

// hold counts on l for a while, and gives it back.
func (k *connection) hold(t *testing.T, l *session.Lease, a session.Acquire, deserts bool) {
	v, err := l.View()
	if err != nil || k.n.now() != k.p {
		k.leave()
		return
	}
	st := k.c.counted(k.by, v, a)
	if l = k.enterAgain(st, l, a); l == nil {
		return
	}
	for end := k.c.clock() + time.Duration(k.c.random(6000))*time.Millisecond; k.c.clock() < end; k.c.pause(200 * time.Millisecond) {
		v, err := l.View()
		switch {
		case k.n.now() != k.p && deserts:
			k.c.deserted(k.n, st)
			return
		case k.n.now() != k.p:
			if l = k.again(st); l == nil {
				return
			}
		case stopping(err):
		case err != nil:
			k.c.lost(st, err)
			k.leave()
			return
		default:
			k.c.told(st, v.Deadline)
			if k.c.random(8) == 0 {
				_, _ = k.s.Renew(context.Background(), st.name, 1, 0) // the next look tells
			}
		}
	}
	k.c.leave(st)
	if k.c.random(4) > 0 {
		_, _ = k.s.Release(context.Background(), st.name, 1, true, "") // or the end of the session does
	}
	k.leave()
}

// counted: a client counts on what v is a view of.
func (c *crashes) counted(by string, v session.View, a session.Acquire) *stint {
	st := &stint{by: by, name: v.Name, mode: a, fence: v.Fence, since: c.clock() - time.Since(v.Since), until: v.Deadline}
	c.enter(st)
	return st
}

// enterAgain enters l some times and leaves it as often, by requests with keys that are repeated
// until somebody has heard the answer. nil: it is lost.
func (k *connection) enterAgain(st *stint, l *session.Lease, a session.Acquire) *session.Lease {
	entries := 1
	once := func(change int, do func() error) bool {
		var err error
		for {
			err = do()
			if k.unheard(); k.n.now() == k.p && !stopping(err) {
				break
			}
			if l = k.again(st); l == nil {
				return false
			}
		}
		v, gone := l.View()
		if entries += change; k.n.now() == k.p && err == nil && gone == nil && v.Count != entries {
			k.c.fault("%s has entered %s %d times, and %d are counted", k.by, st.name, entries, v.Count)
		}
		return err == nil
	}
	n := k.c.random(3)
	for i := range 2 * n {
		key := fmt.Sprint("entry ", i)
		ok := false
		if i < n {
			b := a
			b.Key = key
			ok = once(1, func() error { _, err := k.s.Acquire(context.Background(), st.name, b); return err })
		} else {
			ok = once(-1, func() error { _, err := k.s.Release(context.Background(), st.name, 1, false, key); return err })
		}
		if !ok {
			break
		}
	}
	return l
}

// again is the hold as the next process has it; nil: it is lost.
func (k *connection) again(st *stint) *session.Lease {
	why := errors.New("its session is gone")
	if k.join() {
		for _, l := range k.s.Leases() {
			v, err := l.View()
			if k.n.now() != k.p || stopping(err) {
				return k.again(st)
			}
			if why = err; err == nil && v.Fence == st.fence {
				k.c.told(st, v.Deadline)
				return l
			}
		}
	}
	k.c.lost(st, fmt.Errorf("after a restart: %w", why))
	k.leave()
	return nil
}

// workAll takes two names at once, repeats that and their release until somebody has heard the
// answer, and counts on both as long as it has them.
func (k *connection) workAll(ctx context.Context, t *testing.T, a session.Acquire) {
	names := []string{"y", "x"}
	a.Key, a.Limit, a.Shared, a.Fixed, a.MaxHold = "all", 0, k.c.random(4) == 0, false, 0
	var gs []session.Grant
	heard := k.until(func() (err error) { gs, err = k.s.AcquireAll(ctx, names, a); return err })
	if heard != nil {
		k.c.say("%s: %v", k.by, heard)
		k.leave()
		return
	}
	var stints []*stint
	for _, g := range gs {
		v, err := g.Lease.View()
		if err != nil || k.n.now() != k.p {
			break
		}
		stints = append(stints, k.c.counted(k.by, v, a))
	}
	k.c.pause(4 * time.Second)
	for _, st := range stints {
		k.c.leave(st)
	}
	err := k.until(func() error { _, err := k.s.ReleaseAll(context.Background(), names, 1, "none"); return err })
	gone := len(stints) < len(names) || slices.ContainsFunc(stints, k.c.gone)
	if k.c.say("%s: release of all: %v", k.by, err); err != nil && k.c.calm && !gone {
		k.c.fault("%s: release of all: %v", k.by, err)
	}
	k.leave()
}

// until repeats do at the gateway's next process until its answer is heard.
func (k *connection) until(do func() error) error {
	for {
		err := do()
		if k.unheard(); k.n.now() == k.p && !stopping(err) {
			return err
		}
		if !k.join() {
			return errors.New("its session is gone")
		}
	}
}
