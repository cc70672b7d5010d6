package model

import (
	"slices"
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
	case q.r.Swap != nil && slices.ContainsFunc(q.r.Swap.Record.Holds, func(h ledger.Hold) bool { return slices.Contains(w.gone, h.ID) }):
	case q.r.Swap != nil:
		ok = w.row.Swap(*q.r.Swap, next, w.now, w.clock)
		if ok {
			ms = q.r.Swap.Effects.Messages
		}
		q.reply.Written = ok
	case q.r.Join != nil:
		ms, ok = w.row.Join(*q.r.Join, next)
	}
	if ok {
		w.serial++
		w.clock = max(w.clock, w.row.Record.Top)
		w.touched(&before.Record, q.node)
		w.queued(&before.Record, q.node)
		w.wrote(q.node, q.r.SentAt)
	}
	unheard := w.publish(ms)
	written := q.reply.Written
	q.reply = w.row.Reply(w.now)
	q.reply.Written, q.reply.Unheard, q.reply.Deleted = written, unheard, w.gone
	q.answered, q.at = true, w.now
}

// breaks has an administrator's gateway, which has no part in the rest, tell node i to end
// the hold of its client k.
func (w *world) breaks(i, k int) {
	w.faults.Break--
	w.nodes[i].clients[k].broken = true
	op := ledger.Op{Verb: ledger.Break, Node: "-", Hold: w.nodes[i].journal.id, Caller: w.nodes[i].clients[k].caller.Fence, Turns: 1}
	next, effects := ledger.Step(w.row.Record, op, w.now)
	w.serial++
	before := w.row
	w.row.Swap(ledger.Swap{Base: w.row.Version, Record: next, Effects: effects}, ledger.Version("v"+strconv.Itoa(w.serial)), w.now, w.clock)
	w.touched(&before.Record, len(w.nodes)-1-i)
	w.publish(effects.Messages)
}

func (w *world) publish(ms []ledger.Message) (unheard []string) {
	for _, m := range ms {
		n := &w.nodes[w.index(m.Node)]
		if n.process == killed || n.deaf {
			unheard = append(unheard, m.Node)
			continue
		}
		n.messages[m.Kind] = true
		if w.in.Carry {
			n.carried[m.Kind] = w.row.Reply(w.now)
		}
	}
	return unheard
}
