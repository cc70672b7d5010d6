package ledger

import (
	"testing"

	"github.com/lockgw/lockgw/backend"
)

// Where the order is strict, nobody passes a caller who came earlier because that one's node
// has been served for another and has not asked for it yet.
func TestStrictOrderBehindTheFirst(t *testing.T) {
	const x, s, p = backend.Exclusive, backend.Shared, backend.Mode(3)
	asks := func(node string, m backend.Mode, since, then int64, keep int) Op {
		return Op{Node: node, Mode: m, Want: 1, Keep: keep, Strict: true, Since: since, Then: then}
	}
	for name, run := range map[string]func(*scenario){
		"a writer behind a reader that has come in": func(r *scenario) {
			r.op(asks("b", s, 12, 14, 0)).is("b | b")
			r.op(asks("a", s, 18, 0, 0)).is("b | b a")
			r.op(asks("b", x, 14, 0, 0)).is("b | a").leaves("b").is("a? | a")
		},
		"a writer behind a reader that was offered the name": func(r *scenario) {
			r.want("c", x, 1).op(asks("b", s, 12, 14, 0)).op(asks("a", s, 13, 18, 0)).leaves("c").is("b? a? | b a")
			r.op(asks("a", s, 13, 18, 0)).is("b? a | b a")
			r.op(asks("a", s, 15, 18, 1)).is("b? a | b a") // waits
			r.op(asks("b", s, 12, 14, 0)).is("a b | b a")
		},
		"the next of a semaphore's callers": func(r *scenario) {
			r.want("c", p, 3).op(asks("b", p, 12, 14, 0)).op(asks("a", p, 13, 18, 0)).leaves("c").is("b? a? | b a")
			r.op(asks("a", p, 13, 18, 0)).is("b? a | b a").op(asks("a", p, 18, 0, 1)).is("b? a | b a")
			r.op(asks("b", p, 12, 14, 0)).is("a b | b a").op(asks("b", p, 14, 0, 1)).is("a b2 | a")
		},
		"not for one that has given up": func(r *scenario) {
			r.op(asks("b", s, 12, 14, 0)).op(asks("a", s, 18, 0, 0)).is("b | b a")
			r.op(Op{Node: "b", Mode: s, Keep: 1, Strict: true}).is("b a? | a")
		},
	} {
		t.Run(name, func(t *testing.T) { run(&scenario{t: t}) })
	}
}
