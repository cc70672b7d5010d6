package backendtest

import "github.com/lockgw/lockgw/backend"

// overtakenBesideSlots: a node asks twice for the name with the same number, because the
// first sending is delayed. By the time it arrives the node has the name for another of
// its callers, others wait for it, and a reader of the node has asked as a contender of
// its own. The late request must not end the hold of the writer.
func overtakenBesideSlots(b *bench) {
	n, m := b.node("a"), b.node("b")
	late, retried := n.granted()
	n.give(retried.Hold)
	_, writer := n.granted()
	m.queued()
	n.line(backend.Shared, "1")
	_, err := n.Acquire(n.ctx(), late)
	b.is(err, backend.ErrStale)
	n.holds(writer.Hold)
	errs, err := n.Renew(n.ctx(), []backend.Renewal{{Name: name, Hold: writer.Hold, TTL: ttl}})
	if err != nil || errs[0] != nil {
		b.Errorf("renewal of the writer's hold: %v, %v", errs, err)
	}
	m.silent()
}
