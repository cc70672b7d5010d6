// Package backendtest states what backend.Backend promises, one test for each
// sentence. A store is done when Run passes over it, and over it in its wrappers.
package backendtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// Store opens one store as seen by several nodes. Whatever it opens it also
// closes at the end of the test.
type Store func(t *testing.T, n backend.Node) backend.Backend

// Run tests the store that open makes, anew for each test. What is said of a queue
// is asked only of a store whose Info says that it keeps one.
func Run(t *testing.T, open func(t *testing.T) Store) {
	all := cases
	if open(t)(t, backend.Node{ID: "info", Incarnation: 1}).Info().Queue {
		all = slices.Concat(cases, queueCases)
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(&bench{T: t, open: open(t)})
		})
	}
	t.Run("modes", func(t *testing.T) { runModes(t, open) })
}

type testCase struct {
	name string
	run  func(*bench)
}

var cases = []testCase{
	{"acquire grants a free name", grantsFree},
	{"acquire without queue is refused with the holder", refusesHeld},
	{"a repeated acquire grants the same hold", repeatGrantsSame},
	{"a repeated acquire sets the lease anew", repeatRearms},
	{"an acquire by a later number drops the hold left over", laterDropsLeftover},
	{"an overtaken number is refused", refusesOvertaken},
	{"there is no fence beyond 2^53", noFenceIsLeft},
	{"an earlier incarnation is refused", refusesEarlierIncarnation},
	{"a request about nothing it knows changes nothing", refusesUnknownHold},
	{"a node that is gone is passed over", passesOverGone},
	{"the holder hears that another waits", holderHears},
	{"a late release ends nobody else's hold", lateRelease},
	{"a release withdraws what a late acquire has left", lateAcquireIsWithdrawn},
	{"a repeated release changes nothing", repeatRelease},
	{"release with queue asks again at the end", releaseQueues},
	{"a repeated release with queue grants the same hold", repeatReleaseQueues},
	{"extend reserves a block of larger fences", extendReserves},
	{"a repeated extend returns the same block", repeatExtend},
	{"extend lets go when another waits", extendYields},
	{"a repeated extend that let go does not let go twice", repeatExtendYield},
	{"extend without queue only says that another waits", prefetchTells},
	{"cancel leaves the queue", cancelLeaves},
	{"cancel of one attempt leaves a later one alone", cancelOnlyItsAttempt},
	{"reclaim adopts the hold of an earlier incarnation", reclaimAdopts},
	{"a repeated reclaim returns the same block", repeatReclaim},
	{"reclaim drops and passes on what else was left", reclaimDrops},
	{"reclaim does not bring back what is over", reclaimFinal},
	{"break takes a name from whoever holds it", breakTakes},
	{"break of another fence changes nothing", breakRefuses},
	{"renew keeps a lease", renewKeeps},
	{"renew does not revive", renewFinal},
	{"a late renewal does not shorten", renewGrows},
	{"a lease ends by itself", leaseEnds},
	{"fences rise, also over a floor", fencesRise},
	{"describe tells others of the present turn", describeTells},
	{"inspect knows the last fence given", inspectTop},
	{"list finds names by prefix", listPrefix},
	{"a delay keeps the name from everybody", delayKeeps},
}

// queueCases are about stores that keep a queue.
var queueCases = []testCase{
	{"release passes the name on, provisionally", releasePasses},
	{"a provisional hold is confirmed into a lease", confirmLeases},
	{"a provisional hold that nobody confirms runs out", provisionalEnds},
	{"who was granted provisionally may ask again instead", askAgainTakesProvisional},
	{"who let a provisional hold run out is picked last", suspectsLast},
	{"nodes are served in the order in which they asked", firstInFirstOut},
	{"who asks again keeps the place", keepsPlace},
	{"a newcomer does not overtake the queue", noBarging},
	{"the second hears of a provisional hold", secondHears},
	{"cancel gives back what was granted", cancelReleases},
	{"promote serves the queue when a lease has ended", promoteServes},
	{"slots of one node are contenders of their own", slotsContend},
}

// bench is what a test works with.
type bench struct {
	*testing.T
	open Store
}

// node is a Backend with what it was told.
type node struct {
	backend.Backend
	b     *bench
	hints chan backend.Hint
	seq   uint64
	last  backend.Request
}

func (b *bench) node(id string) *node { return b.incarnation(id, 1) }

func (b *bench) incarnation(id string, inc uint64) *node {
	n := &node{b: b, hints: make(chan backend.Hint, 1000)}
	n.Backend = b.open(b.T, backend.Node{ID: id, Incarnation: inc})
	n.Listen(func(h backend.Hint) { n.hints <- h })
	n.ready()
	return n
}

// ready waits until messages reach the node.
func (n *node) ready() {
	n.b.Helper()
	for began := time.Now(); n.Ping(n.ctx()) != nil; {
		if time.Since(began) > 5*time.Second {
			n.b.Fatalf("store not ready: %v", n.Ping(n.ctx()))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (n *node) ctx() context.Context { return n.b.Context() }

const (
	name = "a/b"
	ttl  = 3 * time.Second
)

// req is a request with the next number.
func (n *node) req() backend.Request {
	n.seq++
	n.last = backend.Request{
		Name: name, Seq: n.seq, Owner: backend.Owner(fmt.Sprintf("owner-%p:1", n)), TTL: ttl, Turns: 4, Queue: true, Record: `{"x": 1}`,
	}
	return n.last
}

// granted asks and fails unless granted.
func (n *node) granted() (backend.Request, backend.Answer) {
	n.b.Helper()
	r := n.req()
	a, err := n.Acquire(n.ctx(), r)
	if err != nil || !a.Granted {
		n.b.Fatalf("acquire = %+v, %v, want granted", a, err)
	}
	return r, a
}

// queued asks and fails unless queued.
func (n *node) queued() backend.Request {
	n.b.Helper()
	r := n.req()
	n.wantQueued(n.Acquire(n.ctx(), r))
	return r
}

func (n *node) wantQueued(a backend.Answer, err error) backend.Answer {
	n.b.Helper()
	if err != nil || !a.Queued || a.Granted {
		n.b.Fatalf("answer = %+v, %v, want queued", a, err)
	}
	return a
}

func (n *node) wantGranted(a backend.Answer, err error) backend.Answer {
	n.b.Helper()
	if err != nil || !a.Granted {
		n.b.Fatalf("answer = %+v, %v, want granted", a, err)
	}
	return a
}

// give releases the hold.
func (n *node) give(hold backend.Fence) backend.Answer {
	n.b.Helper()
	r := n.req()
	r.Hold, r.Turn, r.Queue = hold, hold, false
	a, err := n.Release(n.ctx(), r)
	if err != nil {
		n.b.Fatalf("release: %v", err)
	}
	return a
}

// hintPatience: a message that is lost, as where a slot moves, may cost 5 s.
const hintPatience = 10 * time.Second

// hears waits for a hint of the kind.
func (n *node) hears(k backend.HintKind) backend.Hint {
	n.b.Helper()
	timeout := time.After(hintPatience)
	for {
		select {
		case h := <-n.hints:
			if h.Kind == k {
				return h
			}
		case <-timeout:
			n.b.Fatalf("no hint %d within %v", k, hintPatience)
		}
	}
}

// confirmed waits for a grant and confirms it; without a queue it waits for the hint
// that the name is free and repeats its last request, by which it waits.
func (n *node) confirmed() backend.Answer {
	n.b.Helper()
	if !n.Info().Queue {
		n.hears(backend.HintFree)
		return n.asksAgain()
	}
	h := n.hears(backend.HintGranted)
	r := n.req()
	r.Hold = h.Fence
	return n.wantGranted(n.Confirm(n.ctx(), r))
}

// asksAgain asks until it is granted, for 10 s at most.
func (n *node) asksAgain() backend.Answer {
	n.b.Helper()
	for began := time.Now(); ; {
		a, err := n.Acquire(n.ctx(), n.last)
		if err != nil || a.Granted || time.Since(began) > 10*time.Second {
			return n.wantGranted(a, err)
		}
		time.Sleep(min(a.Wait, 100*time.Millisecond))
	}
}

// silent fails if a grant arrives within a moment.
func (n *node) silent() {
	n.b.Helper()
	timeout := time.After(50 * time.Millisecond)
	for {
		select {
		case h := <-n.hints:
			if h.Kind == backend.HintGranted {
				n.b.Fatalf("hint %+v, want none", h)
			}
		case <-timeout:
			return
		}
	}
}

func (n *node) status() backend.Status {
	n.b.Helper()
	st, err := n.Inspect(n.ctx(), name)
	if err != nil {
		n.b.Fatalf("inspect: %v", err)
	}
	return st
}

// holds fails unless the store says that hold is the present one.
func (n *node) holds(hold backend.Fence) {
	n.b.Helper()
	if st := n.status(); !st.Held || st.Hold != hold {
		n.b.Fatalf("status = %+v, want hold %d", st, hold)
	}
}

func (n *node) free() {
	n.b.Helper()
	if st := n.status(); st.Held {
		n.b.Fatalf("status = %+v, want free", st)
	}
}

func (b *bench) is(err, want error) {
	b.Helper()
	if !errors.Is(err, want) {
		b.Fatalf("err = %v, want %v", err, want)
	}
}
