package tabletest

import (
	"errors"
	"fmt"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

func (e *env) leases() {
	e.needsModes()
	r := e.want(e.a, backend.Shared, 1)
	id := r.Record.Firm(e.a.id).ID
	stale := e.step(e.b, r, ledger.Op{Mode: backend.Shared, Want: 1})
	if errs, err := e.a.Renew(e.ctx(), []ledger.Renewal{{Name: e.name, ID: id, TTL: time.Minute}}); err != nil || errs[0] != nil {
		e.Fatal(err, errs)
	}
	e.lasts(e.look(e.b), e.a, time.Minute)
	got, err := e.b.Swap(e.ctx(), stale) // a renewal is no new version, and a swap keeps it
	if err != nil || !got.Written {
		e.Fatalf("a renewal makes other writes fail: %+v, %v", got, err)
	}
	e.lasts(got, e.a, time.Minute)
	e.lasts(got, e.b, 30*time.Second)
	if errs, err := e.a.Renew(e.ctx(), []ledger.Renewal{{Name: e.name, ID: id, TTL: 2 * time.Second}}); err != nil || errs[0] != nil {
		e.Fatal(err, errs)
	}
	e.lasts(e.look(e.b), e.a, time.Minute)
	// A write of its own may make it shorter.
	e.lasts(e.written(e.op(e.a, ledger.Op{Hold: id, Keep: 1, Mode: backend.Shared, TTL: 10 * time.Second, Extend: true})), e.a, 10*time.Second)
}

func (e *env) ended() {
	take := func() ledger.Reply {
		seen := e.look(e.b)
		for i := range seen.Record.Holds { // b's clock is wrong
			seen.Record.Holds[i].End = -time.Hour
		}
		got, err := e.b.Swap(e.ctx(), e.step(e.b, seen, ledger.Op{Want: 1, Lapse: true}))
		if err != nil {
			e.Fatal(err)
		}
		return got
	}
	var id backend.Fence
	for name, try := e.name, 0; ; try++ { // on a busy machine the lease may be over when the answer comes
		e.name = fmt.Sprint(name, "-", try)
		began := time.Now()
		r := e.written(e.op(e.a, ledger.Op{Want: 1, TTL: e.after}))
		id = r.Record.Firm(e.a.id).ID
		got, there := take(), e.look(e.b)
		if time.Since(began) < e.after {
			if got.Written {
				e.Fatalf("a hold was ended that is not over: %+v", got)
			}
			e.is(there, "a |")
			break
		}
		if try == 20 {
			e.Fatalf("two requests take longer than %v", e.after)
		}
	}
	e.until(func() bool {
		got := take()
		if got.Written {
			e.is(got, "b |")
		}
		return got.Written
	})
	if errs, err := e.a.Renew(e.ctx(), []ledger.Renewal{{Name: e.name, ID: id, TTL: time.Minute}}); err != nil || !errors.Is(errs[0], backend.ErrNotHeld) {
		e.Errorf("what is over was renewed: %v, %v", errs, err)
	}
}

func (e *env) several() {
	e.needsModes()
	e.is(e.want(e.a, 3, 2), "a2 |")
	e.is(e.want(e.b, 3, 1), "a2 b |")
	c := e.node("c")
	e.is(e.want(c, 3, 1), "a2 b | c")
	id := e.firm(e.a).ID
	r := e.written(e.op(e.a, ledger.Op{Hold: id, Keep: 1, Mode: 3}))
	e.is(r, "a b c? | c")
	if o := e.offer(c); o == nil || o.End <= 0 || o.End > 21*time.Second {
		e.Errorf("the offer is %+v", o)
	}
	e.is(e.want(c, 3, 1), "a b c |")
	r = e.leave(e.a)
	e.is(r, "b c |")
	e.lasts(r, e.b, 30*time.Second) // although no lease began by this write
	r = e.leave(e.b)
	e.is(r, "c |")
	e.lasts(r, c, 30*time.Second) // nor where one hold is all that there is
	e.is(e.leave(c), "|")
}

func (e *env) renewals() {
	const n = 120
	var rs []ledger.Renewal
	name := e.name
	for i := range n {
		e.name = fmt.Sprintf("%s:%d", name, i)
		id := backend.Fence(7)
		if i%3 != 0 {
			id = e.granted(e.a).ID
		}
		if i%3 == 1 {
			e.leave(e.a)
		}
		rs = append(rs, ledger.Renewal{Name: e.name, ID: id, TTL: time.Minute})
	}
	errs, err := e.a.Renew(e.ctx(), rs)
	if err != nil || len(errs) != n {
		e.Fatal(err, len(errs))
	}
	for i, err := range errs {
		if want := i%3 == 2; want != (err == nil) || err != nil && !errors.Is(err, backend.ErrNotHeld) {
			e.Errorf("renewal %d: %v", i, err)
		}
	}
	e.name = name
	// An offer is none of the node's holds yet.
	e.want(e.a, backend.Exclusive, 1)
	e.want(e.b, backend.Exclusive, 1)
	e.leave(e.a)
	o := e.offer(e.b)
	if errs, err := e.b.Renew(e.ctx(), []ledger.Renewal{{Name: e.name, ID: o.ID, TTL: time.Minute}}); err != nil || !errors.Is(errs[0], backend.ErrNotHeld) {
		e.Errorf("an offer was renewed: %v, %v", errs, err)
	}
	if errs, err := e.b.Renew(e.ctx(), nil); err != nil || len(errs) != 0 {
		e.Errorf("no renewals: %v, %v", errs, err)
	}
}
