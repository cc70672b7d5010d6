package etcd

import (
	"context"
	"encoding/json"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

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
	Notes []quorum.Note `json:"notes"`
	// Row is the record that was written with it: its key and this one have the same revision.
	Row string `json:"row,omitempty"`
}

// mostCopies bounds how much of a write are copies of its record, in bytes: etcd takes 1.5 MiB in a
// request. Where there are more, each node reads it.
const mostCopies = 256 << 10

// letters are ms by node. text is the row of the name that they are about.
func letters(ms []ledger.Addressed, text string) (out []letter) {
	all := quorum.Letters(ms)
	if len(all)*len(text) > mostCopies {
		text = ""
	}
	for _, l := range all {
		value, _ := json.Marshal(content{l.Notes, text}) // it never fails
		out = append(out, letter{l.Node, string(value)})
	}
	return out
}

// mailTogether is how many letters of a write go into one of its parts: etcd takes 128 in a
// transaction, with those around it, and transactions for parts.
const mailTogether = 60

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
	for some := range slices.Chunk(letters(ms, ""), renewTogether) {
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

// open reads a letter. A record that cannot be read is left out.
func (t *Table) open(value []byte, rev int64) []ledger.Addressed {
	var x content
	if json.Unmarshal(value, &x) != nil {
		return nil
	}
	var ms []ledger.Addressed
	for _, n := range x.Notes {
		m, ok := n.Message(t.Node())
		if !ok {
			continue
		}
		if r, err := quorum.Decode(x.Row); x.Row != "" && err == nil && r.Kept == "" {
			is := row{r, rev}
			t.seen.saw(n.Name, &is)
			reply := is.Reply(is.version())
			t.remains.set(n.Name, is.Ends, &reply.Record)
			m.Reply = &reply
		}
		ms = append(ms, m)
	}
	return ms
}
