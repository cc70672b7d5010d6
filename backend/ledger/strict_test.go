package ledger

import (
	"testing"
	"time"

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
		"nobody waits for one that is taken for dead": func(r *scenario) {
			r.op(asks("c", x, 1, 0, 0)).op(asks("b", s, 12, 14, 0)).op(asks("a", s, 18, 0, 0))
			r.row.Record.Queue[0].Suspect = true
			r.leaves("c").is("a? b? | b! a")
		},
		"for the next of one who has a share already": func(r *scenario) {
			r.op(asks("a", s, 10, 0, 0)).op(asks("b", x, 12, 0, 0)).op(asks("a", s, 14, 18, 1)).is("a | b a")
			r.leaves("b").is("a | a")
			if e := r.row.Record.Entry("a"); e.Since != 18 || e.Mode != x {
				r.t.Errorf("a waits as %+v, want for the one who came at 18", e)
			}
		},
		"who asks is not served for its next one, and those before it are": func(r *scenario) {
			r.op(Op{Node: "c", Mode: p, Want: 2, Strict: true, TTL: time.Hour}).op(Op{Node: "d", Mode: p, Want: 1, Strict: true})
			r.op(asks("a", p, 12, 18, 0)).op(asks("b", p, 13, 0, 0)).is("c2 d | a b").after(29500 * time.Millisecond)
			r.op(Op{Node: "c", Mode: p, Keep: 1, TTL: time.Hour}).is("c d a? | a b").after(500 * time.Millisecond)
			r.op(asks("a", p, 12, 18, 0)).is("c a b? | b a")
			if e := r.row.Record.Entry("a"); e.Since != 18 || e.Mode != p {
				r.t.Errorf("a waits as %+v, want for a permit for the one who came at 18", e)
			}
		},
		"who came at the same time keeps its place": func(r *scenario) {
			r.op(asks("c", x, 1, 0, 0)).op(asks("b", x, 10, 0, 0)).op(asks("a", x, 10, 0, 0)).op(asks("b", x, 10, 0, 0)).is("c | b a")
		},
		"where the order is not strict, that of the writes": func(r *scenario) {
			r.want("c", x, 1).op(Op{Node: "b", Mode: x, Want: 1, Since: 10}).op(Op{Node: "a", Mode: x, Want: 1, Since: 5}).is("c | b a")
			r.op(Op{Node: "b", Mode: x, Want: 1, Since: 30}).is("c | b a")
		},
		"not for one that has given up": func(r *scenario) {
			r.op(asks("b", s, 12, 14, 0)).op(asks("a", s, 18, 0, 0)).is("b | b a")
			r.op(Op{Node: "b", Mode: s, Keep: 1, Strict: true}).is("b a? | a")
		},
	} {
		t.Run(name, func(t *testing.T) { run(&scenario{t: t}) })
	}
}
