package etcd

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
)

// letter is what is written to the key of a node: messages. etcd tells every write of the
// key, so that one that is overwritten at once arrives all the same.
type letter struct {
	node  string
	value string
}

type content struct {
	Notes []note `json:"notes"`
	// Row is the record that was written with it: its key and this one have the same revision.
	Row string `json:"row,omitempty"`
}

type note struct {
	Kind ledger.Kind `json:"kind"`
	Name string      `json:"name"`
	Text string      `json:"text,omitempty"`
}

// letters are ms by node. text is the row of the name that they are about.
func letters(ms []ledger.Addressed, text string) ([]letter, error) {
	var out []letter
	for _, m := range ms {
		if slices.ContainsFunc(out, func(l letter) bool { return l.node == m.Node }) {
			continue
		}
		x := content{Row: text}
		for _, o := range ms {
			if o.Node == m.Node {
				x.Notes = append(x.Notes, note{o.Kind, o.Name, o.Text})
			}
		}
		value, err := json.Marshal(x)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", backend.ErrInvalid, err)
		}
		out = append(out, letter{m.Node, string(value)})
	}
	return out, nil
}

// op writes l if its node listens. Its answer says so.
func (l letter) op(k keys) clientv3.Op {
	key := k.mail(l.node)
	return clientv3.OpTxn(
		[]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(key), "!=", 0)},
		[]clientv3.Op{clientv3.OpPut(key, l.value, clientv3.WithIgnoreLease())}, nil)
}

// Send implements ledger.Table.
func (t *Table) Send(ctx context.Context, ms []ledger.Addressed) error {
	if err := ledger.Texts(ms); err != nil {
		return err
	}
	c, err := t.link.client(ctx)
	if err != nil {
		return err
	}
	ls, err := letters(ms, "")
	if err != nil {
		return err
	}
	for some := range slices.Chunk(ls, renewTogether) {
		ops := make([]clientv3.Op, len(some))
		for i, l := range some {
			ops[i] = l.op(t.keys)
		}
		if _, err := c.Txn(ctx).Then(ops...).Commit(); err != nil {
			return outcome(ctx, err)
		}
	}
	return nil
}

// open reads a letter. Whoever may write the key can forge one: a record that cannot be
// read is left out, and one that can is only ever compared with.
func (t *Table) open(value []byte, rev int64) []ledger.Addressed {
	var x content
	if json.Unmarshal(value, &x) != nil {
		return nil
	}
	var ms []ledger.Addressed
	for _, n := range x.Notes {
		if n.Kind < ledger.Look || n.Kind > ledger.Told || n.Kind == ledger.Resync || len(n.Text) > ledger.MaxText || n.Name == "" {
			continue
		}
		m := ledger.Addressed{Name: n.Name, Message: ledger.Message{Node: t.cfg.Node.ID, Kind: n.Kind, Text: n.Text}}
		if r, err := quorum.Decode(x.Row); x.Row != "" && err == nil && r.Kept == "" {
			is := row{r, rev}
			t.seen.saw(n.Name, &is)
			m.Reply = &ledger.Reply{Version: is.version(), Record: is.Record, Clock: quorum.Clock()}
			t.remains.set(n.Name, is.Ends, &m.Reply.Record)
		}
		ms = append(ms, m)
	}
	return ms
}
