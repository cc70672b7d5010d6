package redlock

import (
	"context"
	"errors"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
)

// Extend implements backend.Backend.
func (b *Backend) Extend(ctx context.Context, r backend.Request) (backend.Answer, error) {
	if r.TTL > b.maxTTL {
		return backend.Answer{}, b.tooLong(r.TTL)
	}
	if err := spent(max(ballot(r), r.Block+1), r); err != nil {
		return backend.Answer{}, err
	}
	began := boottime.Now()
	done := b.reserve(ctx, extendScript, r)
	block, err := done.block()
	switch {
	case err == nil:
		b.note(r, block, done.permit(), began)
		return block, nil
	case done.count("again") > 0: // it let go before, and asks again
		return b.Acquire(ctx, r)
	case done.count("stale") > 0 || done.count("granted", "others") < b.quorum() || done.count("others") == 0:
		if errors.Is(err, backend.ErrNotHeld) {
			b.drop(r)
		}
		return backend.Answer{}, err
	case !r.Queue:
		return backend.Answer{Others: true}, nil
	}
	return b.makeRoom(ctx, r)
}

// makeRoom lets go, and marks the sender as the last of those who wait.
func (b *Backend) makeRoom(ctx context.Context, r backend.Request) (backend.Answer, error) {
	b.drop(r)
	b.await(r)
	// Attempt: Extend does not read it, and the sender has nothing else to take back.
	r.Attempt, r.Delay = 0, 0
	done := b.ask(ctx, releaseScript, b.message(order{Request: r, force: true}), settled("queued"))
	if err := done.verdict("queued"); err != nil {
		return backend.Answer{}, err
	}
	return backend.Answer{Queued: true, Wait: calm}, nil
}

// reserve asks for a block of fences under a hold. If the ballot was too low, or the
// nodes have different blocks of earlier requests, it asks once more, with force.
func (b *Backend) reserve(ctx context.Context, s *goredis.Script, r backend.Request) *blocks {
	o := order{Request: r, ballot: max(ballot(r), r.Block+1), known: r.Block}
	done := &blocks{b.under(ctx, s, o, reserved)}
	if _, err := done.block(); err == nil || ctx.Err() != nil || done.count("granted", "floor") < b.quorum() {
		return done
	}
	if o.ballot, o.force = max(done.top()+1, ballot(r)), true; spent(o.ballot, r) != nil {
		return done
	}
	return &blocks{b.under(ctx, s, o, reserved)}
}

// blocks reads the answers to extendScript and reclaimScript.
type blocks struct{ *round }

// reserved: a majority has the same block, or none can come about any more.
func reserved(r *round) bool {
	d := blocks{r}
	_, err := d.block()
	return err == nil || r.count("stale") > 0 || r.count("nothold", "missing", "done") > len(r.b.nodes)-r.b.quorum()
}

// block is what a majority has reserved for the hold.
func (d blocks) block() (backend.Answer, error) {
	votes := map[backend.Fence]int{}
	for _, v := range d.votes {
		if v.reply.Text(0) != "granted" {
			continue
		}
		f := v.reply.Fence(2)
		if votes[f]++; votes[f] >= d.b.quorum() {
			return backend.Answer{
				Granted: true, Hold: v.reply.Fence(1), Block: f, Turns: int(v.reply.Number(3)), Others: d.others(4),
			}, nil
		}
	}
	return backend.Answer{}, d.verdict() // never nil: there is no other word for yes
}

// permit of the hold.
func (d blocks) permit() string {
	for _, v := range d.votes {
		if v.reply.Text(0) == "granted" {
			return v.reply.Text(5)
		}
	}
	return ""
}

// top is the highest fence that a node has told of.
func (d blocks) top() backend.Fence {
	var t backend.Fence
	for _, v := range d.votes {
		switch v.reply.Text(0) {
		case "granted":
			t = max(t, v.reply.Fence(2))
		case "floor":
			t = max(t, v.reply.Fence(1))
		}
	}
	return t
}

// Reclaim implements backend.Backend.
func (b *Backend) Reclaim(ctx context.Context, r backend.Request) (backend.Answer, error) {
	if r.TTL > b.maxTTL {
		return backend.Answer{}, b.tooLong(r.TTL)
	}
	began := boottime.Now()
	r.Attempt = r.Seq
	done := b.reserve(ctx, reclaimScript, r)
	if a, err := done.block(); err == nil {
		b.note(r, a, done.permit(), began)
		return a, nil
	}
	if err := done.verdict("done", "granted", "floor"); err != nil {
		return backend.Answer{}, err
	}
	if done.count("done") <= len(b.nodes)-b.quorum() { // a majority may have it: to be asked again
		return backend.Answer{}, done.unavailable()
	}
	return backend.Answer{}, b.Cancel(ctx, r) // what a minority has is no hold
}
