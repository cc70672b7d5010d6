package model

import (
	"strconv"

	"github.com/lockgw/lockgw/backend/ledger"
)

// exec is the store.
func (w *world) exec(q *request) {
	if q.r == nil {
		panic("nothing to carry out")
	}
	before := w.row
	next := ledger.Version("v" + strconv.Itoa(w.serial+1))
	var ms []ledger.Message
	ok := false
	switch {
	case q.r.Swap != nil:
		ok = w.row.Swap(*q.r.Swap, next, w.now, w.clock)
		if ok {
			ms = q.r.Swap.Effects.Messages
		}
		q.reply.Written = ok
	case q.r.Join != nil:
		ms, ok = w.row.Join(*q.r.Join, next, w.clock)
	}
	if ok {
		w.serial++
		w.clock = max(w.clock, w.row.Record.Top)
		w.touched(&before.Record, q.node)
		w.queued(&before.Record, q.node)
	}
	unheard := w.publish(ms)
	written := q.reply.Written
	q.reply = w.row.Reply(w.now)
	q.reply.Written, q.reply.Unheard = written, unheard
	q.answered, q.at = true, w.now
}

func (w *world) publish(ms []ledger.Message) (unheard []string) {
	for _, m := range ms {
		n := &w.nodes[w.index(m.Node)]
		if n.process == killed || n.deaf {
			unheard = append(unheard, m.Node)
			continue
		}
		n.messages[m.Kind] = true
	}
	return unheard
}
