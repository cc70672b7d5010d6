package examine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/conn"
)

// NeededRights is what ACL SETUSER has to be told of a user of lockgw, with a %s for
// the key prefix. scripting, because a script may do no more than its user.
const NeededRights = "~%[1]s* ~lockgw:* ~redisson_lock_token:* &lockgw:node:* &redisson_lock__channel:* " +
	"+@connection +@scripting +@hash +@pubsub +@string +@keyspace -@dangerous +info +config|get +time +cluster|slots +cluster|info"

// rights finds out whether this user may do what a gateway does, by doing it.
func (x *examination) rights(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*timeout)
	defer cancel()
	p, err := x.probe(ctx)
	if err != nil {
		x.add(Finding{Fail, "messages", err.Error(), x.remedy(err)})
		return
	}
	defer p.ps.Close()
	trip, err := p.listen(ctx)
	if err != nil {
		x.add(Finding{Fail, "messages", err.Error(), x.remedy(err)})
	} else {
		x.add(Finding{OK, "messages", fmt.Sprintf("one came back after %v", trip.Round(10*time.Microsecond)), ""})
	}
	if err := p.passOn(ctx, err == nil); err != nil {
		x.add(Finding{Fail, "locks", err.Error(), x.remedy(err)})
		return
	}
	x.add(Finding{OK, "locks", "one was taken, renewed, passed on and given back", ""})
}

// remedy is more rights, unless the server refuses what no right would allow.
func (x *examination) remedy(err error) string {
	if errors.Is(err, backend.ErrRefused) && !strings.Contains(err.Error(), "ACL SETUSER") {
		return refusedRemedy
	}
	return "ACL SETUSER ... " + fmt.Sprintf(NeededRights, x.prefix)
}

// probe is two nodes that want a lock of their own. The second one listens.
type probe struct {
	table         *redis.Table
	name          string
	first, second string
	channels      redis.Channels
	home          *goredis.Client // has the lock
	ps            *goredis.PubSub
	seen          ledger.Reply
}

// probe chooses a name that a server has which answers.
func (x *examination) probe(ctx context.Context) (*probe, error) {
	for {
		p := &probe{table: x.table, name: "lockgw-doctor-" + rand.Text(), first: x.table.Node() + "-1", second: x.table.Node()}
		var err error
		if p.home, err = x.table.Home(ctx, p.name); err != nil {
			return nil, err
		}
		if slices.Contains(x.masters, p.home) {
			p.ps, p.channels = p.home.Subscribe(ctx), x.table.Channels(p.name)
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
		return 0, fmt.Errorf("PUBLISH: %w", conn.Outcome(err))
	}
	if err := p.hear(ctx, func(payload string) bool { return payload == redis.ProbePrefix }); err != nil {
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
		return fmt.Errorf("%s %s: %w", word, channel, conn.Outcome(err))
	}
	return nil
}

// hear waits for a message to this node that is wanted.
func (p *probe) hear(ctx context.Context, wanted func(payload string) bool) error {
	for {
		received, err := p.ps.ReceiveTimeout(ctx, timeout)
		if err != nil {
			return conn.Outcome(err)
		}
		if m, ok := received.(*goredis.Message); ok && m.Channel == p.channels.Node && wanted(m.Payload) {
			return nil
		}
	}
}

// passOn takes the lock for one node, which passes it on to the other if that can hear of
// it, and gives it back.
func (p *probe) passOn(ctx context.Context, hears bool) error {
	if err := p.does(ctx, "take a lock", ledger.Op{Node: p.first, Want: 1}); err != nil {
		return err
	}
	hold := p.seen.Record.Firm(p.first)
	if hold == nil {
		return errors.New("take a lock: somebody else has it, though nobody knows its name")
	}
	var err error
	if p.seen, err = p.table.Join(ctx, p.name, ledger.Entry{Node: p.second, Want: 1, Waiters: 1}, 0); err != nil {
		return fmt.Errorf("wait for a lock: %w", err)
	}
	if _, err := p.table.Renew(ctx, []ledger.Renewal{{Name: p.name, ID: hold.ID, TTL: probeTTL}}); err != nil {
		return fmt.Errorf("renew a lock: %w", err)
	}
	if err := p.look(ctx); err != nil {
		return err
	}
	if err := p.does(ctx, "give a lock back", ledger.Op{Verb: ledger.Leave, Node: p.first, Hold: hold.ID}); err != nil {
		return err
	}
	if hears {
		if err := p.take(ctx); err != nil {
			return err
		}
	}
	return p.does(ctx, "give a lock back", ledger.Op{Verb: ledger.Leave, Node: p.second})
}

// look reads the lock as `status` and `ls` do.
func (p *probe) look(ctx context.Context) (err error) {
	if p.seen, err = p.table.Look(ctx, p.name); err != nil {
		return fmt.Errorf("look at a lock: %w", err)
	}
	if _, _, err := p.table.List(ctx, p.name, "", 0); err != nil && !errors.Is(err, backend.ErrPartly) { // 0: one step
		return fmt.Errorf("list locks: %w", err)
	}
	return nil
}

// take makes the lock that was passed on to the second node its own.
func (p *probe) take(ctx context.Context) error {
	err := p.hear(ctx, func(payload string) bool {
		m, ok := redis.ParseMessage(payload, p.second)
		return ok && m.Name == p.name && m.Kind == ledger.Look
	})
	if err != nil {
		return fmt.Errorf("hear that a lock was passed on: %w", err)
	}
	return p.does(ctx, "take a lock that was passed on", ledger.Op{Node: p.second, Want: 1})
}

const probeTTL = 10 * time.Second

// does writes what op makes of the lock, which nobody else uses.
func (p *probe) does(ctx context.Context, what string, op ledger.Op) error {
	op.Turns, op.TTL, op.OfferTTL = 1, probeTTL, probeTTL
	next, effects := ledger.Step(p.seen.Record, op, 0)
	r, err := p.table.Swap(ctx, ledger.Swap{Name: p.name, Base: p.seen.Version, Record: next, Effects: effects})
	if err == nil && !r.Written {
		err = errors.New("the record is another than before, though nobody knows its name")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	p.seen = r
	return nil
}
