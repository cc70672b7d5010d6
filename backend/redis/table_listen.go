package redis

import (
	"context"
	"fmt"
	"strings"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis/conn"
)

// channelOfNode and the id of a node are the channel of its messages.
const channelOfNode = "lockgw:node:"

// ParseMessage reads a message to node. Anybody can forge one: a record that cannot be
// read, or is not that of its version, is left out.
func ParseMessage(payload, node string) (ledger.Addressed, bool) {
	m, with, ok := ledger.ParseMessage(payload, node)
	var seconds, us int64
	if n, _ := fmt.Sscan(with, &seconds, &us); !ok || n != 2 {
		return m, ok
	}
	_, text, _ := strings.Cut(with, " ")
	_, text, _ = strings.Cut(text, " ")
	if s, err := parseStored(text); err == nil && s.version != "" && s.sealed(text) {
		r := s.reply(outsider{state: lockOurs}, micros(seconds, us))
		m.Reply = &r
	}
	return m, true
}

// Listen implements ledger.Table.
func (t *Table) Listen(f func(ledger.Addressed)) {
	t.told = f
	t.subscriber.Start(func(payload string) {
		if m, ok := ParseMessage(payload, t.cfg.Node.ID); ok {
			f(m)
		}
	}, func() {
		t.trust.forgetAll()
		t.trials.forget()
		t.lookAtServers(true)
		f(ledger.Addressed{Message: ledger.Message{Node: t.cfg.Node.ID, Kind: ledger.Resync}})
	}, func() { f(ledger.Addressed{Message: ledger.Message{Node: t.cfg.Node.ID, Kind: ledger.Deaf}}) })
}

// Send implements ledger.Table.
func (t *Table) Send(ctx context.Context, ms []ledger.Addressed) error {
	if err := ledger.Texts(ms); err != nil {
		return err
	}
	return backend.Each(len(ms), func(i int) error {
		c, err := t.servers.Of(ctx, t.cfg.KeyPrefix+ms[i].Name)
		if err != nil {
			return err
		}
		return conn.Outcome(c.Publish(ctx, channelOfNode+ms[i].Node, ledger.Heading(ms[i].Kind, ms[i].Name)+" "+ms[i].Text).Err())
	})
}

// followed is the channel on which the release of a foreign holder is heard.
type followed struct {
	channel string // "": none
	clock   int64  // of the newest answer that has said so
}

// follow listens for the release of a holder outside lockgw while this node waits for it,
// and no longer. Answers are not read in the order in which they were given.
func (t *Table) follow(ctx context.Context, name string, r *ledger.Reply) {
	channel := ""
	for _, h := range r.Record.Holds {
		if h.ID == 0 && r.Record.Entry(t.cfg.Node.ID) != nil {
			owner := backend.Owner("")
			if len(h.Callers) > 0 {
				owner = h.Callers[0].Owner
			}
			channel = t.releases(ctx, name, owner)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.foreign[name]
	if r.Clock != 0 && r.Clock < was.clock {
		return
	}
	if channel == "" {
		delete(t.foreign, name)
	} else {
		t.foreign[name] = followed{channel, r.Clock}
	}
	if was.channel == channel {
		return
	}
	if was.channel != "" {
		t.subscriber.Unwatch(was.channel)
	}
	if channel != "" {
		t.subscriber.Watch(channel, func() { t.released(channel) })
	}
}

// released tells of all names whose release is heard on channel: those of x and of {x} are.
func (t *Table) released(channel string) {
	var names []string
	t.mu.Lock()
	for name, f := range t.foreign {
		if f.channel == channel {
			names = append(names, name)
		}
	}
	t.mu.Unlock()
	for _, name := range names {
		t.told(ledger.Addressed{Name: name, Message: ledger.Message{Node: t.cfg.Node.ID, Kind: ledger.Look}})
	}
}
