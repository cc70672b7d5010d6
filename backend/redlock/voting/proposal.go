package voting

import (
	"context"
	"errors"
	"slices"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// proposal is a Swap on its way to be chosen, or a wish to know what is chosen.
type proposal struct {
	t    *Table
	name string
	swap *ledger.Swap // nil: none
	// anew has the record accepted again even if a majority has it, so that servers learn
	// of holds that they have missed.
	anew bool

	value  *value // of swap, once it was made. It is the same in all rounds
	sent   bool   // some server may have accepted it
	above  uint64 // which ballots have to be
	failed int    // rounds that too few servers have taken part in
}

// run goes on until something is chosen, or ctx is done.
func (p *proposal) run(ctx context.Context) (ledger.Reply, error) {
	if b, x, ok := p.follows(); ok {
		p.value = x.value(b, p.swap)
		if r, _, err := p.accept(ctx, b, p.value, nil); err == nil {
			return r, nil
		}
	}
	for try := 0; ; try++ {
		r, busy, err := p.round(ctx)
		if err == nil || !busy {
			return r, err
		}
		if !backend.Wait(ctx, p.t.pause(try)) {
			return ledger.Reply{}, p.trouble([]error{err})
		}
	}
}

func (p *proposal) trouble(errs []error) error { return p.t.trouble(p.name, errs, p.sent) }

// follows: the last write was of this Table, at a majority that nobody has asked since. Then
// it may write again at the next ballot, which each of them has promised it. That is used
// at most once.
func (p *proposal) follows() (b ballot, x reading, ok bool) {
	t := p.t
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.known[p.name]
	if k == nil || p.swap == nil || k.mine == (ballot{}) {
		return b, x, false
	}
	var rows []*row
	for _, r := range k.rows {
		if r != nil {
			p.above = max(p.above, r.promised.n)
			if r.accepted == k.mine && r.promised == k.mine.next() {
				rows = append(rows, r)
			}
		}
	}
	b, k.mine = k.mine.next(), ballot{}
	if len(rows) < t.quorum || len(p.swap.Effects.Ended) > 0 {
		return b, x, false
	}
	x = read(rows, rows[0].vote, len(t.tables), t.clock())
	return b, x, x.carriesOut(p.swap)
}

// round is one round of CASPaxos. busy: another round came between, or servers did not
// answer; another one may succeed.
func (p *proposal) round(ctx context.Context) (r ledger.Reply, busy bool, err error) {
	t := p.t
	b := ballot{p.above + 1, t.who()}
	if seen := t.promised(p.name); seen > p.above {
		b.n = seen + 1
	}
	p.above = b.n
	decided := make(chan *value, len(t.tables)) // one for each server
	decide := func(v *value) {
		for range t.tables {
			decided <- v
		}
	}
	promises := make(chan result, len(t.tables))
	accepts := t.ask(ctx, p.name, func(ctx context.Context, a *acceptor) ([]string, error) {
		err := a.promise(ctx, b)
		promises <- result{server: a.server, row: a.row, err: err}
		v := <-decided
		if v == nil || err != nil {
			return nil, err
		}
		return a.accept(ctx, b, v)
	})
	given := t.wait(ctx, promises, func(a *answers) bool { return !p.anew && t.settled(a) && !t.lost(a.rows) })
	if len(given.rows) < t.quorum {
		decide(nil)
		return r, p.mayRetry(ctx, given.errs), p.trouble(given.errs)
	}
	if t.lost(given.rows) {
		decide(nil)
		p.failed++
		return r, p.failed < patientRounds, p.trouble(append(given.errs, errLost))
	}
	x := read(given.rows, newest(given.rows), len(t.tables), t.clock())
	v, followed, known := x.same(b), false, true
	if p.sent {
		followed, known = x.follows(p.value.first, p.swap.Base)
	}
	switch {
	case p.value != nil && x.first == p.value.first && x.accepted != (ballot{}): // it is ours already
		v = p.value
	case p.swap != nil && x.carriesOut(p.swap):
		if p.value == nil {
			p.value = x.value(b, p.swap)
		}
		v = p.value
	case p.sent && !known: // it was carried out and others came after it, or it never will be
		decide(nil)
		return r, false, p.trouble(append(given.errs, errSuperseded))
	case !p.sent && (x.accepted == (ballot{}) || x.votes >= t.quorum && !p.anew): // what was sent is outdone only by what is accepted after it
		decide(nil)
		return x.reply(), false, nil
	}
	decide(v)
	r, busy, err = p.accept(ctx, b, v, accepts)
	r.Written = r.Written || followed && err == nil
	return r, busy, err
}

var (
	errSuperseded = errors.New("another write came between")
	// errLost: see Table.lost.
	errLost = errors.New("the lock was deleted on some of the servers, and those that may have it still do not answer")
)

// mayRetry: another round may succeed. errs are why this one did not.
func (p *proposal) mayRetry(ctx context.Context, errs []error) bool {
	if ctx.Err() != nil {
		return false
	}
	lost, waiting := 0, false
	for _, err := range errs {
		var n *nack
		var later *backend.Later
		switch {
		case errors.As(err, &n):
			p.above = max(p.above, n.promised.n)
		case errors.As(err, &later): // the others are asked as long as they are enough
			lost++
			waiting = true
		case !errors.Is(err, errBusy):
			lost++
		}
	}
	switch {
	case len(p.t.tables)-lost >= p.t.quorum:
		return true
	case waiting:
		return false
	}
	p.failed++
	return p.failed < patientRounds
}

// patientRounds is how many rounds may come to nothing because servers do not answer, or
// refuse.
const patientRounds = 3

// accept has a majority accept v at b. results are of servers that are being asked already;
// nil: none is.
func (p *proposal) accept(ctx context.Context, b ballot, v *value, results <-chan result) (r ledger.Reply, busy bool, err error) {
	t := p.t
	if results == nil {
		results = t.ask(ctx, p.name, func(ctx context.Context, a *acceptor) ([]string, error) { return a.accept(ctx, b, v) })
	}
	done := t.wait(ctx, results, func(*answers) bool { return true })
	if len(done.rows) < t.quorum {
		if v == p.value && !refusedByAll(done, len(t.tables)) {
			p.sent = true
		}
		return r, p.mayRetry(ctx, done.errs), p.trouble(done.errs)
	}
	x := read(done.rows, done.rows[0].vote, len(t.tables), t.clock())
	r = x.reply()
	if r.Record.Hold(0) == nil && v.outsider != nil { // not all that have it have answered
		r.Record.Holds = append(r.Record.Holds, *v.outsider)
	}
	if v != p.value {
		return r, false, nil
	}
	r.Written = true
	r.Unheard = slices.Clone(done.results[0].unheard)
	for _, one := range done.results {
		r.Unheard = slices.DeleteFunc(r.Unheard, func(n string) bool { return !slices.Contains(one.unheard, n) })
	}
	t.wrote(p.name, b)
	return r, false, nil
}

// refusedByAll: no server has accepted anything, or will.
func refusedByAll(a *answers, servers int) bool {
	if len(a.errs) < servers {
		return false
	}
	for _, err := range a.errs {
		if !errors.Is(err, backend.ErrRefused) {
			return false
		}
	}
	return true
}
