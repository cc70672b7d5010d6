package session_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

var (
	walks    = flag.Int("walks", 60, "how many walks TestWhatIsAsked takes")
	walkSeed = flag.Uint64("walk-seed", 1, "the first of them")
)

// Whatever clients of two gateways ask, one after the other, the answers are those of a few plain
// facts: who holds what, how often, until when. Requests that wait are under way meanwhile, and
// gateways are killed.
func TestWhatIsAsked(t *testing.T) {
	all := map[string]int{}
	for i := range uint64(*walks) {
		w := &walk{rng: rand.New(rand.NewPCG(*walkSeed+i, 11)), clock: fakeClock(), names: map[string]*facts{}, did: all}
		bubble(t, w.run)
		if w.fault != "" {
			t.Fatalf("walk %d: %s\n%s", *walkSeed+i, w.fault, strings.Join(w.log, "\n"))
		}
	}
	for _, what := range []string{
		"granted", "entered", "locked", "conflict", "waits", "granted later", "timed out", "released", "one entry less", "not held",
		"lost by max_hold", "lost by its lease", "broken", "kept", "renewed", "session ended", "restart", "all", "not all", "repeat",
	} {
		if all[what] < *walks/5 {
			t.Errorf("%q came %d times in %d walks, which proves little", what, all[what], *walks)
		}
	}
}

// walk is one of them.
type walk struct {
	t     *testing.T
	rng   *rand.Rand
	clock session.Clock
	nodes []*process
	users []*user
	names map[string]*facts
	did   map[string]int
	n     int // of requests with a key

	retain, delay time.Duration // of the gateways

	fault string // the first thing that was not as it should be
	log   []string
}

// user is a client with a session.
type user struct {
	id    int
	node  int
	token session.Token
	lost  map[string]bool // by key: the last hold of it was lost, and not taken again
}

// facts are what there is to know about a name.
type facts struct {
	name   string
	holds  []*fact
	kept   []*fact // released, but kept for min_hold
	waits  []*request
	newest backend.Fence
	alone  backend.Fence // of the newest exclusive hold
	mute   time.Duration // until then a killed node may stand in the queue
	// By Config.Delay nobody gets what was lost before bar; and perhaps not before unsure.
	bar, unsure time.Duration
}

// fact is a hold.
type fact struct {
	of      *user
	thread  int64
	mode    backend.Mode
	entries int
	fence   backend.Fence
	ttl     time.Duration
	until   time.Duration // of the lease; 0: it is renewed
	end     time.Duration // by max_hold; 0: none
	keep    time.Duration // by min_hold, until when; 0: none
}

// request is an acquire that waits.
type request struct {
	fact
	a     session.Acquire
	until time.Duration
	done  chan error
	lease *session.Lease

	hangUp context.CancelFunc
	gone   bool // its client has hung up
}

// over is when a hold ends whose lease ends at until.
func (f *fact) over(until time.Duration) time.Duration {
	if f.end > 0 {
		return min(f.end, until)
	}
	return until
}

func (f *fact) key(name string) string { return fmt.Sprint(name, " ", f.thread) }

func (w *walk) say(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%v ", w.clock()-time.Hour)+fmt.Sprintf(format, args...))
}

func (w *walk) wrong(format string, args ...any) {
	w.say("WRONG "+format, args...)
	if w.fault == "" {
		w.fault = fmt.Sprintf(format, args...)
	}
}

func (w *walk) run(t *testing.T) {
	w.t = t
	store := memory.NewRows()
	store.Keep = true
	cfg := session.Config{Clock: w.clock, TTL: 10 * time.Second, Fairness: session.Fairness{
		MaxTurns: 3, Strict: w.rng.IntN(4) == 0, ExactOwner: w.rng.IntN(4) == 0,
	}}
	if w.rng.IntN(3) == 0 {
		w.retain = 200 * time.Millisecond
		cfg.Fairness.Retain = w.retain
	}
	w.say("%+v", cfg.Fairness)
	if w.rng.IntN(3) == 0 {
		w.delay = time.Second
		cfg.Delay = w.delay
	}
	for range 2 {
		w.nodes = append(w.nodes, begin(t, store, cfg))
	}
	for _, name := range []string{"x", "y", "permits"} {
		w.names[name] = &facts{name: name}
	}
	for i := range 4 {
		w.users = append(w.users, &user{id: i, node: i % 2})
		w.open(w.users[i])
	}
	for range 60 {
		w.step()
		w.settle()
		if w.fault != "" {
			break
		}
	}
	w.leave()
}

func (w *walk) open(u *user) {
	s, token := w.nodes[u.node].open(session.Options{Keepalive: 24 * time.Hour})
	u.token, u.lost = token, map[string]bool{}
	w.say("user %d opens %s on node %d", u.id, s.ID(), u.node)
}

func (w *walk) session(u *user) *session.Session { return w.nodes[u.node].lookup(u.token) }

func (w *walk) step() {
	u := w.users[w.rng.IntN(len(w.users))]
	f := w.names[[]string{"x", "y", "permits"}[w.rng.IntN(3)]]
	thread := int64(1 + w.rng.IntN(2))
	switch n := w.rng.IntN(100); {
	case n < 40:
		w.acquire(u, f, thread)
	case n < 62:
		w.release(u, f, thread)
	case n < 67:
		w.renew(u, f, thread)
	case n < 71:
		w.breakHold(f)
	case n < 73:
		w.end(u)
	case n < 75 && len(f.waits) > 0:
		r := f.waits[w.rng.IntN(len(f.waits))]
		w.say("user %d/%d hangs up", r.of.id, r.thread)
		r.gone = true
		r.hangUp()
	case n < 76:
		w.kill(w.rng.IntN(2))
	case n < 80:
		w.both(u, thread)
	case n < 83:
		w.releaseAll(u, thread)
	default:
		d := []time.Duration{time.Millisecond, 300 * time.Millisecond, 2 * time.Second, 5 * time.Second, 11 * time.Second}[w.rng.IntN(5)]
		w.say("%v later", d)
		for ; d > 0 && w.fault == ""; d -= 500 * time.Millisecond { // who is let in meanwhile is seen before that is over
			time.Sleep(min(d, 500*time.Millisecond))
			w.settle()
		}
	}
}

// of is the hold of u by thread; nil: there is none.
func (f *facts) of(u *user, thread int64) *fact {
	for _, h := range f.holds {
		if h.of == u && h.thread == thread {
			return h
		}
	}
	return nil
}

func (f *facts) waiting(u *user, thread int64) bool {
	return slices.ContainsFunc(f.waits, func(r *request) bool { return r.of == u && r.thread == thread })
}

// kind tells locks from semaphores of any size.
func kind(m backend.Mode) backend.Mode {
	if m == backend.Shared {
		return backend.Exclusive
	}
	return m
}

// fits: one more in that mode is let in beside those who are in.
func (f *facts) fits(m backend.Mode) bool {
	in := slices.Concat(f.holds, f.kept)
	switch {
	case len(in) == 0:
		return true
	case m == backend.Shared:
		return !slices.ContainsFunc(in, func(h *fact) bool { return h.mode != backend.Shared })
	case m == backend.Exclusive:
		return false
	default:
		return len(in) < int(m)
	}
}

// another: somebody is in or waits for it as something else.
func (f *facts) another(m backend.Mode) bool {
	return slices.ContainsFunc(slices.Concat(f.holds, f.kept), func(h *fact) bool { return kind(h.mode) != kind(m) }) ||
		slices.ContainsFunc(f.waits, func(r *request) bool { return kind(r.mode) != kind(m) })
}

func (w *walk) acquire(u *user, f *facts, thread int64) {
	if f.waiting(u, thread) {
		return // it would wait for that one first
	}
	a := w.anyhow(f.name, thread)
	r := &request{a: a, until: w.clock() + a.Wait, done: make(chan error, 1)}
	r.fact = fact{of: u, thread: thread, mode: modeOf(a), entries: 1, ttl: a.TTL}
	s := w.session(u)
	mine, free, other, busy := f.of(u, thread), f.fits(r.mode) && len(f.waits) == 0, f.another(r.mode), w.busy(u, thread)
	unsure, barred := w.clock() < f.unsure, w.clock() < f.bar
	w.say("user %d/%d asks for %s: %v ttl %v fixed %v wait %v min %v max %v key %q", u.id, thread, f.name, r.mode, a.TTL, a.Fixed, a.Wait, a.MinHold, a.MaxHold, a.Key)
	var ctx context.Context
	ctx, r.hangUp = context.WithCancel(context.Background())
	go func() {
		g, err := s.Acquire(ctx, f.name, a)
		r.lease = g.Lease
		r.done <- err
	}()
	synctest.Wait()
	var err error
	select {
	case err = <-r.done:
		w.say("  %v", err)
	default:
		w.say("  waits")
		if mine != nil || free && !unsure || other || a.Wait == 0 {
			w.wrong("user %d/%d waits for %s", u.id, thread, f.name)
		}
		f.waits = append(f.waits, r)
		w.did["waits"]++
		return
	}
	switch code := session.CodeOf(err); {
	case mine != nil:
		w.entered(f, mine, r, err)
	case other:
		w.want(code == session.CodeConflict, err, "conflict")
	case err == nil:
		w.want(free && !barred, nil, "granted")
		w.granted(f, r)
	case code == session.CodeConflict:
		w.want(busy && a.Wait > 0, err, "would wait for itself")
	default:
		w.want((!free || unsure) && code == session.CodeLocked && a.Wait == 0, err, "locked")
	}
	if a.Key != "" && err == nil && w.rng.IntN(2) == 0 {
		w.repeat(u, f, thread, a)
	}
}

// busy: the wait of u may be one for itself.
func (w *walk) busy(u *user, thread int64) bool {
	for _, f := range w.names {
		if f.of(u, thread) != nil {
			return true
		}
	}
	return false
}

// anyhow is a request of any kind.
func (w *walk) anyhow(name string, thread int64) session.Acquire {
	a := session.Acquire{Thread: thread, TTL: time.Duration(1+w.rng.IntN(20)) * time.Second}
	switch {
	case w.retain == 0 && (w.rng.IntN(15) == 0 && name == "permits" || w.rng.IntN(30) == 0): // what a node retains is of its kind still
		a.Limit = 3
	case name == "permits":
		a.Limit = 2
	default:
		a.Shared = w.rng.IntN(2) == 0
	}
	a.Fixed = w.rng.IntN(3) == 0
	if w.rng.IntN(2) == 0 {
		a.Wait = time.Duration(1+w.rng.IntN(30)) * time.Second
	}
	if w.rng.IntN(6) == 0 {
		a.MaxHold = time.Duration(3+w.rng.IntN(20)) * time.Second
	}
	if w.rng.IntN(6) == 0 {
		a.MinHold = time.Duration(1+w.rng.IntN(3)) * time.Second
	}
	if w.rng.IntN(4) == 0 {
		w.n++
		a.Key = fmt.Sprint("k", w.n)
	}
	return a
}

// want counts what has happened if that was right.
func (w *walk) want(right bool, err error, what string) {
	if w.did[what]++; !right {
		w.wrong("%s: %v", what, err)
	}
}

// granted: r holds f, since a while ago if it has waited.
func (w *walk) granted(f *facts, r *request) {
	v, err := r.lease.View()
	h, since := r.fact, w.clock()-time.Since(v.Since)
	if err != nil {
		w.wrong("user %d/%d is granted %s, and has not got it: %v", h.of.id, h.thread, f.name, err)
		return
	}
	if !f.fits(h.mode) {
		w.wrong("user %d/%d holds %s beside others", h.of.id, h.thread, f.name)
	}
	alone := h.mode == backend.Exclusive
	if v.Fence <= f.alone || alone && v.Fence <= f.newest {
		w.wrong("fence %d after %d, %d of one alone", v.Fence, f.newest, f.alone)
	}
	if since < f.bar {
		w.wrong("user %d/%d is granted %s at %v, which was lost and is nobody's until %v", h.of.id, h.thread, f.name, since, f.bar)
	}
	if f.newest, h.fence = max(f.newest, v.Fence), v.Fence; alone {
		f.alone = v.Fence
	}
	if h.ttl = r.a.TTL; r.a.Fixed {
		h.until = v.Deadline
		if least := since + r.a.TTL - session.Margin(r.a.TTL); r.a.MaxHold == 0 && v.Deadline < least {
			w.wrong("%s is held for %v, want at least %v", f.name, v.Deadline-since, least-since)
		}
	}
	if r.a.MaxHold > 0 {
		h.end = since + r.a.MaxHold
	}
	if r.a.MinHold > 0 {
		h.keep = since + r.a.MinHold
	}
	f.holds = append(f.holds, &h)
	delete(h.of.lost, h.key(f.name))
}

// entered: who holds f has asked for it again.
func (w *walk) entered(f *facts, h *fact, r *request, err error) {
	if h.mode != r.mode && (h.mode != backend.Exclusive || r.mode != backend.Shared) {
		w.want(session.CodeOf(err) == session.CodeConflict, err, "conflict")
		return
	}
	if w.want(err == nil, err, "entered"); err != nil {
		return
	}
	if h.entries++; !r.a.Fixed {
		h.until = 0
	}
	now := w.clock()
	if h.ttl = max(h.ttl, r.a.TTL); h.until > 0 {
		h.until = max(h.until, now+r.a.TTL-session.Margin(r.a.TTL))
	}
}

// repeat: the answer to a request is asked for again.
func (w *walk) repeat(u *user, f *facts, thread int64, a session.Acquire) {
	h := f.of(u, thread)
	if w.rng.IntN(2) == 0 {
		w.kill(u.node)
	}
	g, err := w.session(u).Acquire(context.Background(), f.name, a)
	w.say("user %d/%d repeats %s: %v", u.id, thread, a.Key, err)
	w.want(err == nil && g.Lease.Fence() == h.fence, err, "repeat")
}

func (w *walk) release(u *user, f *facts, thread int64) {
	all, h := w.rng.IntN(3) == 0, f.of(u, thread)
	if h == nil && w.rng.IntN(3) > 0 { // another one, which is there
		if len(f.holds) == 0 {
			return
		}
		h = f.holds[w.rng.IntN(len(f.holds))]
		u, thread = h.of, h.thread
	}
	var seen *backend.Fence
	if w.rng.IntN(4) == 0 {
		seen = new(backend.Fence)
		if *seen = 1 << 60; h != nil && w.rng.IntN(2) == 0 {
			*seen = h.fence
		}
	}
	done, err := w.session(u).ReleaseSeen(context.Background(), f.name, thread, all, seen, "")
	w.say("user %d/%d releases %s, all %v: %+v %v", u.id, thread, f.name, all, done, err)
	switch code := session.CodeOf(err); {
	case h == nil:
		want := session.CodeNotOwner
		if u.lost[(&fact{thread: thread}).key(f.name)] {
			want = session.CodeLost
		}
		w.want(code == want, err, "not held")
	case seen != nil && *seen != h.fence:
		w.want(code == session.CodeFenceMismatch, err, "another fence")
	case !all && h.entries > 1:
		h.entries--
		w.want(err == nil && done.Count == h.entries, err, "one entry less")
	default:
		w.want(err == nil && done.Count == 0 && !done.Pending, err, "released")
		w.drop(f, h)
	}
}

// drop: h was released.
func (w *walk) drop(f *facts, h *fact) {
	f.holds = slices.DeleteFunc(f.holds, func(x *fact) bool { return x == h })
	if h.keep > w.clock() {
		f.kept = append(f.kept, h)
		w.did["kept"]++
	}
}

func (w *walk) renew(u *user, f *facts, thread int64) {
	h, ttl := f.of(u, thread), time.Duration(1+w.rng.IntN(30))*time.Second
	if h == nil && len(f.holds) > 0 {
		h = f.holds[0]
		u, thread = h.of, h.thread
	}
	_, err := w.session(u).Renew(context.Background(), f.name, thread, ttl)
	w.say("user %d/%d renews %s for %v: %v", u.id, thread, f.name, ttl, err)
	if h == nil {
		w.want(err != nil, err, "not held")
		return
	}
	w.want(err == nil, err, "renewed")
	h.ttl = max(h.ttl, ttl)
	if until := w.clock() + ttl - session.Margin(ttl); h.until > 0 {
		h.until = max(h.until, until)
	}
}

// breakHold breaks the newest hold of f.
func (w *walk) breakHold(f *facts) {
	node := w.nodes[w.rng.IntN(2)]
	if len(f.holds) == 0 {
		err := node.Break(context.Background(), f.name, 1, "", "admin")
		w.want(len(f.kept) > 0 || session.CodeOf(err) == session.CodeFenceMismatch, err, "nothing to break")
		if err == nil { // what was kept is gone
			f.kept = nil
		}
		return
	}
	h := f.holds[w.rng.IntN(len(f.holds))]
	began := w.clock()
	err := node.Break(context.Background(), f.name, h.fence, "", "admin")
	w.say("%s with fence %d is broken: %v", f.name, h.fence, err)
	w.want(err == nil, err, "broken")
	w.lose(f, h, began)
}

// lose: the holder of h has lost it.
func (w *walk) lose(f *facts, h *fact, at time.Duration) {
	if w.delay > 0 {
		f.unsure = w.clock() + 2*w.delay
		if h.mode == backend.Exclusive {
			f.bar = at + w.delay
		}
	}
	f.holds = slices.DeleteFunc(f.holds, func(x *fact) bool { return x == h })
	h.of.lost[h.key(f.name)] = true
}

func (w *walk) end(u *user) {
	w.did["session ended"]++
	var e session.Ended
	var err error
	force := w.rng.IntN(3) == 0
	if force {
		e, err = w.nodes[u.node].EndSession(context.Background(), w.session(u).ID(), "admin")
		w.want(err == nil, err, "ended by force")
	} else {
		e = w.session(u).End(context.Background(), "done")
	}
	w.say("user %d ends, by force %v: %+v", u.id, force, e)
	synctest.Wait()
	for _, f := range w.names {
		for _, h := range slices.Clone(f.holds) {
			switch {
			case h.of != u:
			case force:
				w.lose(f, h, w.clock())
			default:
				w.drop(f, h)
			}
		}
		f.waits = slices.DeleteFunc(f.waits, func(r *request) bool {
			if r.of != u {
				return false
			}
			select {
			case err := <-r.done:
				w.want(session.CodeOf(err) == session.CodeSessionEnded, err, "waits when its session ends")
			default:
				w.wrong("user %d waits on", u.id)
			}
			return true
		})
	}
	w.open(u)
}

// kill has the next process take the place of a node.
func (w *walk) kill(node int) {
	w.did["restart"]++
	w.say("node %d is killed", node)
	w.nodes[node] = w.nodes[node].restart()
	synctest.Wait()
	for _, f := range w.names {
		f.waits = slices.DeleteFunc(f.waits, func(r *request) bool {
			if r.of.node != node {
				return false
			}
			f.mute = w.clock() + 30*time.Second
			return true
		})
	}
}

// both are asked for at once.
func (w *walk) both(u *user, thread int64) {
	names := []string{"y", "x"}
	var free, mine int
	for _, name := range names {
		f := w.names[name]
		if f.waiting(u, thread) {
			return
		}
		if f.of(u, thread) != nil {
			mine++
		} else if f.fits(backend.Exclusive) && len(f.waits) == 0 {
			free++
		}
	}
	if mine > 0 {
		return
	}
	a := session.Acquire{Thread: thread, TTL: 5 * time.Second}
	gs, err := w.session(u).AcquireAll(context.Background(), names, a)
	w.say("user %d/%d asks for both: %v", u.id, thread, err)
	if e := new(session.Error); errors.As(err, &e) && e.Lock == "y" { // x was had, and given back
		delete(u.lost, (&fact{thread: thread}).key("x"))
	}
	if gs == nil && (w.clock() < w.names["x"].unsure || w.clock() < w.names["y"].unsure) {
		return
	}
	if free < 2 {
		w.want(session.CodeOf(err) == session.CodeLocked || session.CodeOf(err) == session.CodeConflict, err, "not all")
		return
	}
	if w.want(err == nil, err, "all"); err != nil {
		return
	}
	for i, g := range gs {
		r := &request{a: a, lease: g.Lease, fact: fact{of: u, thread: thread, mode: backend.Exclusive, entries: 1}}
		w.granted(w.names[names[i]], r)
	}
}

func (w *walk) releaseAll(u *user, thread int64) {
	var mine []string
	for _, f := range w.names {
		if f.of(u, thread) != nil {
			mine = append(mine, f.name)
		}
	}
	slices.Sort(mine)
	names := mine
	if w.rng.IntN(4) == 0 {
		names = []string{"x", "y"}
	}
	if len(names) == 0 {
		return
	}
	held := !slices.ContainsFunc(names, func(name string) bool { return w.names[name].of(u, thread) == nil })
	lost := slices.ContainsFunc(names, func(name string) bool {
		return w.names[name].of(u, thread) == nil && !u.lost[(&fact{thread: thread}).key(name)]
	})
	done, err := w.session(u).ReleaseAll(context.Background(), names, thread, "")
	w.say("user %d/%d releases %q: %+v %v", u.id, thread, names, done, err)
	switch {
	case held:
		w.want(err == nil, err, "all released")
	case lost:
		w.want(session.CodeOf(err) == session.CodeNotOwner, err, "not all held")
		return
	default:
		w.want(session.CodeOf(err) == session.CodeLost, err, "some lost")
	}
	for _, name := range names {
		f := w.names[name]
		if h := f.of(u, thread); h != nil {
			if h.entries--; h.entries == 0 {
				w.drop(f, h)
			}
		}
	}
}

// settle looks at what has become of all that there is.
func (w *walk) settle() {
	synctest.Wait()
	for _, name := range []string{"x", "y", "permits"} {
		f := w.names[name]
		w.expire(f)
		w.decided(f)
		w.stuck(f)
		w.told(f)
	}
}

// expire ends what is over by now.
func (w *walk) expire(f *facts) {
	now := w.clock()
	f.kept = slices.DeleteFunc(f.kept, func(h *fact) bool { return h.keep <= now })
	for _, h := range slices.Clone(f.holds) {
		switch lease := h.until > 0 && (h.end == 0 || h.until < h.end); {
		case lease && h.until <= now:
			w.did["lost by its lease"]++
			w.lose(f, h, h.until)
		case !lease && h.end > 0 && h.end <= now:
			w.did["lost by max_hold"]++
			w.lose(f, h, h.end)
		}
	}
}

// decided takes the answers to those who waited, in the order in which they came.
func (w *walk) decided(f *facts) {
	now := w.clock()
	for _, r := range slices.Clone(f.waits) {
		select {
		case err := <-r.done:
			w.say("user %d/%d waits no more for %s: %v", r.of.id, r.thread, f.name, err)
			at := slices.Index(f.waits, r)
			if err == nil {
				for _, before := range f.waits[:at] {
					if before.of.node == r.of.node && len(before.done) == 0 {
						w.wrong("user %d/%d comes before user %d/%d of the same node", r.of.id, r.thread, before.of.id, before.thread)
					}
				}
			}
			f.waits = slices.Delete(f.waits, at, at+1)
			if r.gone {
				w.want(errors.Is(err, context.Canceled), err, "hung up")
				continue
			}
			if err != nil {
				w.want(session.CodeOf(err) == session.CodeWaitTimeout && now >= r.until, err, "timed out")
				continue
			}
			w.did["granted later"]++
			w.granted(f, r)
		default:
			if now > r.until+time.Second {
				w.wrong("user %d/%d still waits for %s", r.of.id, r.thread, f.name)
			}
		}
	}
}

// stuck: nobody waits for what could be had.
func (w *walk) stuck(f *facts) {
	if len(f.waits) == 0 || w.clock() < f.mute || w.clock() < f.unsure {
		return
	}
	all := true
	for _, r := range f.waits {
		all = all && f.fits(r.mode)
	}
	if all {
		w.wrong("user %d/%d waits for %s, which could be had", f.waits[0].of.id, f.waits[0].thread, f.name)
	}
}

// told: who holds f sees that, and nobody else.
func (w *walk) told(f *facts) {
	for _, u := range w.users {
		s := w.session(u)
		for thread := int64(1); thread <= 2; thread++ {
			h := f.of(u, thread)
			l, err := s.Lease(f.name, thread)
			var v session.View
			if err == nil {
				v, err = l.View()
			}
			switch {
			case h == nil && err == nil:
				w.wrong("user %d/%d sees %s as held: %+v", u.id, thread, f.name, v)
			case h == nil:
				if code := session.CodeOf(err); (code == session.CodeLost) != u.lost[(&fact{thread: thread}).key(f.name)] {
					w.wrong("user %d/%d about %s: %v", u.id, thread, f.name, err)
				}
			case err != nil:
				w.wrong("user %d/%d sees %s as not held: %v", u.id, thread, f.name, err)
			case v.Count != h.entries || v.Fence != h.fence || v.AutoRenew != (h.until == 0):
				w.wrong("user %d/%d sees %+v, want %+v", u.id, thread, v, *h)
			case h.until > 0 && v.Deadline < h.over(h.until):
				w.wrong("user %d/%d has %s until %v, want %v", u.id, thread, f.name, v.Deadline, h.over(h.until))
			case h.until > 0 && v.Deadline < h.over(v.Deadline+1):
				h.until = v.Deadline
			}
		}
	}
	for i, n := range w.nodes {
		st, err := n.Inspect(context.Background(), f.name)
		if err != nil || st.State == session.StateHeld != (len(f.holds)+len(f.kept) > 0) && w.retain == 0 && w.delay == 0 || len(f.holds) > 0 && st.Holders < len(f.holds) {
			w.wrong("node %d tells of %s %+v, %v, want %d holds, %d kept", i, f.name, st, err, len(f.holds), len(f.kept))
		}
		if st.Waiters != len(f.waits) && w.clock() >= f.mute {
			w.wrong("node %d tells of %d who wait for %s, want %d", i, st.Waiters, f.name, len(f.waits))
		}
	}
}

// leave: all sessions end, and nothing is left.
func (w *walk) leave() {
	for _, u := range w.users {
		w.session(u).End(context.Background(), "done")
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	for i, n := range w.nodes {
		if st := n.Stats(); st.Sessions+st.Holds+st.Waiters != 0 {
			w.wrong("node %d: %+v is left", i, st)
		}
		for name := range w.names {
			if st, err := n.Inspect(context.Background(), name); err != nil || st.State != session.StateFree || st.Waiters > 0 {
				w.wrong("node %d: %s is %+v at the end, %v", i, name, st, err)
			}
		}
	}
}

func modeOf(a session.Acquire) backend.Mode {
	if a.Shared {
		return backend.Shared
	}
	return backend.Mode(a.Limit)
}
