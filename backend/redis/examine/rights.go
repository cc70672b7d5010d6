package examine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis"
)

// NeededRights is what ACL SETUSER has to be told of a user of lockgw, with a %s for
// the key prefix. scripting, because a script may do no more than its user.
const NeededRights = "~%[1]s* ~lockgw:* ~redisson_lock_token:* &lockgw:node:* &redisson_lock__channel:* " +
	"+@connection +@scripting +@hash +@sortedset +@pubsub +@string +@keyspace -@dangerous +info +config|get +time +cluster|slots +cluster|info"

// rights finds out whether this user may do what a gateway does, by doing it.
func (x *examination) rights(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*timeout)
	defer cancel()
	remedy := "ACL SETUSER ... " + fmt.Sprintf(NeededRights, x.prefix)
	p, err := x.probe(ctx)
	if err != nil {
		x.add(Finding{Fail, "messages", err.Error(), remedy})
		return
	}
	defer p.ps.Close()
	trip, err := p.listen(ctx)
	if err != nil {
		x.add(Finding{Fail, "messages", err.Error(), remedy})
	} else {
		x.add(Finding{OK, "messages", fmt.Sprintf("one came back after %v", trip.Round(10*time.Microsecond)), ""})
	}
	if err := p.passOn(ctx, err == nil); err != nil {
		x.add(Finding{Fail, "locks", err.Error(), remedy})
		return
	}
	x.add(Finding{OK, "locks", "one was taken, renewed, passed on and given back", ""})
}

// probe is two contenders for a lock of its own.
type probe struct {
	b        *redis.Backend
	name     string
	channels redis.Channels
	home     *goredis.Client // has the lock
	ps       *goredis.PubSub
	seq      uint64
}

// probe chooses a name that a server has which answers.
func (x *examination) probe(ctx context.Context) (*probe, error) {
	for {
		p := &probe{b: x.b, name: "lockgw-doctor-" + rand.Text()}
		var err error
		if p.home, err = x.b.Home(ctx, p.name); err != nil {
			return nil, err
		}
		if slices.Contains(x.masters, p.home) {
			p.ps, p.channels = p.home.Subscribe(ctx), x.b.Channels(p.name)
			return p, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("no server that answers has any slot: %w", context.Cause(ctx))
		}
	}
}

// listen subscribes to what a gateway hears and sends itself a message.
func (p *probe) listen(ctx context.Context) (trip time.Duration, err error) {
	if err := p.subscribe(ctx, "SUBSCRIBE", p.ps.Subscribe, p.channels.Node); err != nil {
		return 0, err
	}
	if p.channels.Plain {
		if err := p.subscribe(ctx, "SUBSCRIBE", p.ps.Subscribe, p.channels.Redisson); err != nil {
			return 0, err
		}
	}
	if p.channels.Sharded {
		if err := p.subscribe(ctx, "SSUBSCRIBE", p.ps.SSubscribe, p.channels.Redisson); err != nil {
			return 0, err
		}
	}
	began := time.Now()
	if err := p.home.Publish(ctx, p.channels.Node, redis.ProbePrefix).Err(); err != nil {
		return 0, fmt.Errorf("PUBLISH: %w", redis.Outcome(err))
	}
	if _, err := p.hear(ctx, func(payload string) bool { return payload == redis.ProbePrefix }); err != nil {
		return 0, fmt.Errorf("a message to ourselves did not come back: %w", err)
	}
	return time.Since(began), nil
}

func (p *probe) subscribe(ctx context.Context, word string, command func(context.Context, ...string) error, channel string) error {
	err := command(ctx, channel)
	if err == nil {
		_, err = p.ps.ReceiveTimeout(ctx, timeout)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", word, channel, redis.Outcome(err))
	}
	return nil
}

// hear returns the first message to this node that is wanted.
func (p *probe) hear(ctx context.Context, wanted func(payload string) bool) (string, error) {
	for {
		received, err := p.ps.ReceiveTimeout(ctx, timeout)
		if err != nil {
			return "", redis.Outcome(err)
		}
		if m, ok := received.(*goredis.Message); ok && m.Channel == p.channels.Node && wanted(m.Payload) {
			return m.Payload, nil
		}
	}
}

// passOn takes the lock for one contender, who passes it on to the other if that
// can hear of it, and gives it back.
func (p *probe) passOn(ctx context.Context, hears bool) error {
	first := p.request("1")
	a, err := p.b.Acquire(ctx, first)
	if err != nil {
		return fmt.Errorf("take a lock: %w", err)
	}
	second := p.request("2")
	if _, err := p.b.Acquire(ctx, second); err != nil {
		return fmt.Errorf("wait for a lock: %w", err)
	}
	if _, err := p.b.Renew(ctx, []backend.Renewal{{Name: p.name, Slot: "1", Hold: a.Hold, TTL: first.TTL}}); err != nil {
		return fmt.Errorf("renew a lock: %w", err)
	}
	if err := p.look(ctx); err != nil {
		return err
	}
	if err := p.release(ctx, first, a.Hold); err != nil {
		return err
	}
	if hears {
		return p.take(ctx, second)
	}
	return p.cancel(ctx, second)
}

// look reads the lock as `status` and `ls` do.
func (p *probe) look(ctx context.Context) error {
	if _, err := p.b.Inspect(ctx, p.name); err != nil {
		return fmt.Errorf("look at a lock: %w", err)
	}
	if _, _, err := p.b.List(ctx, p.name, "", 0); err != nil && !errors.Is(err, backend.ErrPartly) { // 0: one step
		return fmt.Errorf("list locks: %w", err)
	}
	return nil
}

// take confirms the lock that was passed on to r and gives it back.
func (p *probe) take(ctx context.Context, r backend.Request) error {
	payload, err := p.hear(ctx, func(payload string) bool {
		h, ok := redis.ParseHint(payload)
		return ok && h.Kind == backend.HintGranted
	})
	if err != nil {
		return fmt.Errorf("hear that a lock was passed on: %w", err)
	}
	h, _ := redis.ParseHint(payload)
	r.Hold, r.Attempt = h.Fence, r.Seq
	if _, err := p.b.Confirm(ctx, r); err != nil && !errors.Is(err, backend.ErrNotHeld) { // or it came late, which is no fault of the server
		return fmt.Errorf("confirm a lock: %w", err)
	}
	return p.release(ctx, r, h.Fence)
}

func (p *probe) release(ctx context.Context, r backend.Request, hold backend.Fence) error {
	r.Attempt, r.Hold, r.Turn, r.Queue = r.Seq, hold, hold, false
	p.seq++
	r.Seq = p.seq
	if _, err := p.b.Release(ctx, r); err != nil {
		return fmt.Errorf("give a lock back: %w", err)
	}
	return nil
}

func (p *probe) cancel(ctx context.Context, r backend.Request) error {
	r.Attempt = r.Seq
	p.seq++
	r.Seq = p.seq
	if err := p.b.Cancel(ctx, r); err != nil {
		return fmt.Errorf("wait no longer for a lock: %w", err)
	}
	return nil
}

// request is an acquire of a contender of this node.
func (p *probe) request(slot string) backend.Request {
	p.seq++
	return backend.Request{
		Name: p.name, Slot: slot, Seq: p.seq, Owner: backend.Owner(p.name + ":" + slot), TTL: 10 * time.Second,
		Turns: 1, Count: 1, Queue: true, Waiters: 1,
	}
}
