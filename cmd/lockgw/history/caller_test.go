package history_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/history"
)

// answerLimit is when a caller stops waiting for an answer that does not come; the
// checkers find that it took too long.
const answerLimit = 20 * time.Second

// habit is how a caller works.
type habit struct {
	names    []string
	shared   float64       // how often it lets others share the name
	permits  int           // of the semaphores that names are; 0: they are locks
	tries    float64       // how often it asks without waiting
	longest  time.Duration // of its holds
	thinking time.Duration // at most, between two acquires
}

// modes are those in which the caller asks for its names.
func (h habit) modes() []history.Mode {
	switch {
	case h.permits > 0:
		return []history.Mode{history.Mode(h.permits)}
	case h.shared > 0:
		return []history.Mode{history.Shared, history.Exclusive}
	default:
		return []history.Mode{history.Exclusive}
	}
}

// caller is one client of one gateway.
type caller struct {
	id   int
	g    *gateway
	http bool
	s    scenario
	h    habit
	rng  *rand.Rand
	rec  *recorder
	door door
}

// run acquires and releases until ctx is done. What it has begun it ends.
func (c *caller) run(ctx context.Context) {
	for ctx.Err() == nil {
		if c.door == nil && !c.open(ctx) {
			continue
		}
		c.once()
		select {
		case <-time.After(c.random(c.h.thinking)):
		case <-ctx.Done():
		}
	}
	c.leave()
}

func (c *caller) open(ctx context.Context) bool {
	if c.http {
		c.door = &httpDoor{client: c.g.HTTP}
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	d, err := openSocket(ctx, c.g)
	if err != nil { // the gateway is being started again
		time.Sleep(10 * time.Millisecond)
		return false
	}
	c.door = d
	return true
}

func (c *caller) leave() {
	if c.door != nil {
		c.door.close()
		c.door = nil
	}
}

func (c *caller) random(most time.Duration) time.Duration {
	return time.Duration(c.rng.Int64N(int64(most) + 1))
}

func (c *caller) chance(p float64) bool { return c.rng.Float64() < p }

// claim is what the caller asks for next.
func (c *caller) claim() claim {
	cl := claim{
		name: c.h.names[c.rng.IntN(len(c.h.names))],
		wait: c.s.wait/10 + c.random(c.s.wait*9/10),
		ttl:  c.s.ttl[0] + c.random(c.s.ttl[1]-c.s.ttl[0]),
		mode: c.h.modes()[0],
	}
	if c.h.shared > 0 && !c.chance(c.h.shared) {
		cl.mode = history.Exclusive
	}
	if c.chance(c.h.tries) {
		cl.wait = 0
	}
	if c.http {
		cl.fixed = c.chance(0.5)
		cl.maxHold = 2*cl.ttl + time.Second
	}
	return cl
}

// once is one acquire and, if it is granted, the hold.
func (c *caller) once() {
	cl := c.claim()
	limit, hangUp := answerLimit+cl.wait, false
	if c.mayVanish() && c.chance(0.04) {
		hangUp, limit = true, c.random(min(cl.wait/2, 300*time.Millisecond))
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	o := history.Op{Name: cl.name, Caller: c.id, Node: c.g.Name, Mode: cl.mode, Wait: cl.wait, TTL: cl.ttl, Fixed: cl.fixed, Call: now()}
	t, err := c.door.acquire(ctx, cl)
	o.Answer = now()
	var no *refusal
	switch {
	case err == nil:
		o.Outcome, o.Fence, o.Deadline = history.Granted, t.fence, t.deadline
		c.hold(&o, cl)
	case errors.As(err, &no):
		o.Outcome, o.Why = history.Refused, no.Error()
		lost := no.word == "LOST" && o.Answer-o.Call > cl.ttl/2 // it ran out before it was told
		if no.word != "" && no.word != "UNAVAILABLE" && !lost {
			c.rec.strange("%s: an acquire was refused by %q", o, no)
		}
	default:
		o.Outcome, o.Why = history.Unheard, err.Error()
		if hangUp {
			o.Why = "hung up"
		} else {
			time.Sleep(20 * time.Millisecond) // the gateway is being started again
		}
		c.leave()
	}
	c.rec.op(o)
}

// mayVanish: what a connection has got ends with it; other holds last until their
// lease ends.
func (c *caller) mayVanish() bool { return !c.http || c.s.abandon }

// hold keeps the name for a while and tells in o what became of it.
func (c *caller) hold(o *history.Op, cl claim) {
	ctx, cancel := context.WithTimeout(context.Background(), answerLimit)
	defer cancel()
	stay := c.random(c.h.longest)
	if c.s.abandon && cl.fixed && c.chance(0.3) {
		stay = o.Deadline - now() - c.random(20*time.Millisecond) // to the very end
	}
	c.stay(stay / 2)
	if c.chance(0.1) {
		c.touch(ctx, o, cl)
	}
	if c.door == nil {
		return
	}
	c.stay(stay / 2)
	switch {
	case c.gone():
		o.End, o.Why = history.Broken, fmt.Sprint(c.door.err())
		c.leave()
	case c.door.lost(o.Fence) != 0:
		o.End, o.EndAnswer = history.Lost, c.door.lost(o.Fence)
	case c.mayVanish() && c.chance(0.04):
		if !c.http {
			o.End, o.EndCall = history.HungUp, now()
		}
		c.leave()
	default:
		c.release(ctx, o, cl)
	}
}

// stay lets time pass; a caller whose connection ends does not wait on.
func (c *caller) stay(d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.door.done():
	}
}

func (c *caller) gone() bool {
	select {
	case <-c.door.done():
		return true
	default:
		return false
	}
}

// touch renews or enters again; an answer proves that the hold stood when it was
// asked for.
func (c *caller) touch(ctx context.Context, o *history.Op, cl claim) {
	asked := now()
	var t told
	var err error
	if again := c.chance(0.4) && !cl.fixed; again {
		t, err = c.door.again(ctx, cl)
		switch {
		case err == nil && (t.fence == o.Fence || now() < o.Deadline && !c.mayBeLost(o)):
			o.Again = t.fence
		case err == nil: // lost meanwhile, and granted anew: a hold that is not looked at
			o.End, o.EndAnswer = history.Lost, now()
			c.leave()
			return
		}
	} else {
		t, err = c.door.renew(ctx, cl)
	}
	if err == nil {
		o.Proven, o.Deadline = asked, max(o.Deadline, t.deadline)
	}
}

// mayBeLost: the hold may be over before its deadline, as the store may have
// forgotten it, or is known to be.
func (c *caller) mayBeLost(o *history.Op) bool {
	return c.s.forgets || c.s.guarded || c.door.lost(o.Fence) != 0
}

func (c *caller) release(ctx context.Context, o *history.Op, cl claim) {
	o.EndCall = now()
	err := c.door.release(ctx, cl)
	o.EndAnswer = now()
	lost := c.door.lost(o.Fence)
	var no *refusal
	switch {
	case err == nil, errors.As(err, &no) && no.word == "UNAVAILABLE": // given back, but not yet confirmed
		o.End = history.Released
		if lost != 0 && lost < o.EndCall {
			c.rec.strange("%s: a release was confirmed after the hold was lost", o)
		}
	case no != nil && no.word == "LOST":
		o.End, o.Why = history.Lost, no.text
	case no != nil && (no.word == "NOSESSION" || no.word == "NOTHELD") && c.http:
		o.End, o.Why = history.Broken, fmt.Sprint(no) // the gateway was started again
	case no != nil:
		o.End, o.Why = history.Broken, fmt.Sprint(no)
		c.rec.strange("%s: the release was refused by %q", o, no)
	default:
		o.End, o.Why = history.Broken, err.Error()
		c.leave()
	}
}
