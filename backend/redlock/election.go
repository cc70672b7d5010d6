package redlock

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// election reads the answers to acquireScript with a ballot.
type election struct {
	*round
	ballot backend.Fence
}

// elected: the ballot has won, or cannot any more because of others.
func elected(ballot backend.Fence) func(*round) bool {
	return func(r *round) bool {
		_, won := election{r, ballot}.winner()
		return won || r.count("stale") > 0 || r.count("held", "conflict") > len(r.b.nodes)-r.b.quorum()
	}
}

// counts: v is of a node that has not forgotten anything.
func (v vote) counts() bool {
	return v.err == nil && v.n.memory.counts(v.reply.Text(1), v.reply.Number(2))
}

// promising is how many nodes have said or might say yes.
func (e election) promising() int {
	n := 0
	for _, v := range e.votes {
		if v.counts() && (v.reply.Text(0) == "granted" || v.reply.Text(0) == "floor") {
			n++
		}
	}
	return n
}

// winner is the hold that a majority says the sender has by this ballot. An earlier one
// that a node did not forget does not count: what takes it back may be on its way.
func (e election) winner() (backend.Answer, bool) {
	var a backend.Answer
	votes := 0
	for _, v := range e.votes {
		if v.counts() && v.reply.Text(0) == "granted" && v.reply.Fence(3) == e.ballot {
			votes++
			a = backend.Answer{
				Granted: true, Hold: e.ballot, Block: max(e.ballot, v.reply.Fence(4)), Turns: int(v.reply.Number(5)), Others: e.others(6),
			}
		}
	}
	return a, votes >= e.b.quorum()
}

// others: a node says so in the i-th element.
func (r *round) others(i int) bool {
	return slices.ContainsFunc(r.votes, func(v vote) bool { return v.reply.Text(0) == "granted" && v.reply.Number(i) == 1 })
}

// top is the highest fence that a node has told of.
func (e election) top() backend.Fence {
	var t backend.Fence
	for _, v := range e.votes {
		if w := v.reply.Text(0); w == "granted" || w == "floor" {
			t = max(t, v.reply.Fence(3))
		}
	}
	return t
}

// refusal says why nobody was elected: another holds the name, several ask at once,
// or too few nodes count.
func (e election) refusal() (a backend.Answer, next another, err error) {
	free, held, conflict := e.promising(), e.count("held"), e.count("conflict")
	switch {
	case e.count("stale") > 0:
		return a, next, backend.ErrStale
	case conflict > len(e.b.nodes)-e.b.quorum():
		return a, next, backend.ErrConflict
	case free+held+conflict < e.b.quorum():
		return a, next, e.tooFew()
	}
	first := e.holder()
	a = backend.Answer{Wait: e.wait(), Holder: first}
	switch {
	case first.Mode != backend.Exclusive && held > len(e.b.nodes)-e.b.quorum():
		// Those who have the name are several, so the nodes need not name the same one.
		next.permit = e.freePermit()
		if next.worth = next.permit != ""; next.worth {
			a.Wait = min(a.Wait, calm/2+rand.N(calm/2))
		}
	case e.heldBy(first) < e.b.quorum() && !first.Foreign:
		a.Holder = backend.Status{}
		a.Wait = min(a.Wait, calm/2+rand.N(calm/2))
		next.worth, next.permit = true, e.freePermit()
	}
	return a, next, nil
}

// freePermit is one that as many nodes as a majority have left, "" if there is none.
func (e election) freePermit() string {
	votes := map[string]int{}
	for _, v := range e.votes {
		if v.err == nil && v.reply.Text(0) == "held" {
			for p := range strings.FieldsSeq(v.reply.Text(12)) {
				votes[p]++
			}
		}
	}
	silent := len(e.b.nodes) - e.count("held") // may have it left, too
	var best []string
	for p, n := range votes {
		if n+silent >= e.b.quorum() && (len(best) == 0 || n >= votes[best[0]]) {
			if len(best) > 0 && n > votes[best[0]] {
				best = best[:0]
			}
			best = append(best, p)
		}
	}
	if len(best) == 0 {
		return ""
	}
	return best[rand.N(len(best))]
}

// tooFew: nodes that do not answer, or do not count now.
func (e election) tooFew() error {
	var errs []error
	unknown := e.pending() > 0
	for _, v := range e.votes {
		unknown = unknown || errors.Is(v.err, backend.ErrUnavailable)
		if why := v.n.memory.whyNot(); v.err == nil && why != nil {
			errs = append(errs, fmt.Errorf("%s: %w", v.n.addr, why))
		}
		if v.reply.Text(0) == "spent" {
			errs = append(errs, fmt.Errorf("%s: %w", v.n.addr, backend.Spent("the key "+v.reply.Text(3), v.reply.Text(4))))
		}
	}
	if len(errs) > 0 && !unknown {
		return fmt.Errorf("%w: redlock: too few of %d nodes count: %s", backend.ErrRefused, len(e.b.nodes), words(errs))
	}
	return e.unavailable()
}

// holder is who has the name on most nodes.
func (e election) holder() backend.Status {
	var best backend.Status
	n := 0
	for _, v := range e.votes {
		if v.reply.Text(0) != "held" {
			continue
		}
		st := backend.Status{
			Held: true, Foreign: v.reply.Number(4) == 1, Owner: backend.Owner(v.reply.Text(5)), Node: v.reply.Text(6),
			Hold: v.reply.Fence(7), Turn: v.reply.Fence(8), TTL: v.reply.Millis(3), Record: v.reply.Text(9),
			Mode: backend.Mode(v.reply.Number(10)), Holders: int(v.reply.Number(11)),
		}
		if m := e.heldBy(st); m > n || m == n && st.Turn > best.Turn {
			best, n = st, m
		}
	}
	return best
}

func (e election) heldBy(st backend.Status) int {
	n := 0
	for _, v := range e.votes {
		if v.reply.Text(0) == "held" && v.reply.Fence(7) == st.Hold && (v.reply.Number(4) == 1) == st.Foreign {
			n++
		}
	}
	return n
}

// wait is when enough nodes are free if nobody prolongs anything; 0: unknown.
func (e election) wait() time.Duration {
	var ends []time.Duration
	for _, v := range e.votes {
		switch {
		case v.err != nil || v.reply.Text(0) == "held" && v.reply.Number(3) < 0:
		case v.reply.Text(0) == "held":
			ends = append(ends, v.reply.Millis(3))
		default:
			ends = append(ends, 0)
		}
	}
	slices.Sort(ends)
	if len(ends) < e.b.quorum() {
		return slices.Max(append(ends, 0))
	}
	return max(ends[e.b.quorum()-1], time.Millisecond)
}
