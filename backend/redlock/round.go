package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
)

// vote is what one node says to a request.
type vote struct {
	n     *node
	reply reply
	err   error // no answer, or a refusal
}

// each asks all nodes at once and hands their votes to enough as they come, until
// that says so, or ctx is done. A node that has not answered by then still gets the
// request, and has conn.IOTimeout for it.
func (b *Backend) each(ctx context.Context, ask func(context.Context, *node) vote, enough func(vote) bool) {
	if ctx.Err() != nil {
		return
	}
	votes := make(chan vote, len(b.nodes))
	for _, n := range b.nodes {
		asked := b.start(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*conn.IOTimeout)
			defer cancel()
			votes <- ask(ctx, n)
		})
		if !asked {
			votes <- vote{n: n, err: fmt.Errorf("%w: the connections to Redis are closed", backend.ErrRefused)}
		}
	}
	for range b.nodes {
		select {
		case v := <-votes:
			if enough(v) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// round is the votes about one request.
type round struct {
	b     *Backend
	votes []vote
}

// ask runs s on all nodes until enough says so.
func (b *Backend) ask(ctx context.Context, s *goredis.Script, m message, enough func(*round) bool) *round {
	return b.collect(ctx, func(ctx context.Context, n *node) vote { return n.run(ctx, s, m) }, enough)
}

func (b *Backend) collect(ctx context.Context, ask func(context.Context, *node) vote, enough func(*round) bool) *round {
	r := &round{b: b}
	b.each(ctx, ask, func(v vote) bool {
		r.votes = append(r.votes, v)
		return enough(r)
	})
	return r
}

// count of the nodes that said so.
func (r *round) count(words ...string) int {
	n := 0
	for _, v := range r.votes {
		for _, w := range words {
			if v.err == nil && v.reply.Text(0) == w {
				n++
			}
		}
	}
	return n
}

// changed: the node has done what was asked.
func (v vote) changed() bool {
	return v.err == nil && !slices.Contains([]string{"held", "floor", "stale", "nothold", "missing", "conflict"}, v.reply.Text(0))
}

// pending is how many nodes have said nothing yet.
func (r *round) pending() int { return len(r.b.nodes) - len(r.votes) }

// settled: a majority says one of the words, or a node that the request was
// overtaken, or that the hold is over on too many. Errors settle nothing: what is
// said of them is to be true of all nodes.
func settled(words ...string) func(*round) bool {
	return func(r *round) bool {
		q := r.b.quorum()
		return r.count(words...) >= q || r.count("stale") > 0 || r.count("nothold", "missing") > len(r.b.nodes)-q
	}
}

// verdict is nil if a majority says one of the words.
func (r *round) verdict(words ...string) error {
	switch q := r.b.quorum(); {
	case r.count("stale") > 0:
		return backend.ErrStale
	case r.count(words...) >= q:
		return nil
	case r.count("nothold", "missing") > len(r.b.nodes)-q:
		return backend.ErrNotHeld
	default:
		return r.unavailable()
	}
}

// unavailable says why there is no majority: ErrRefused if certainly nothing was
// changed anywhere.
func (r *round) unavailable() error {
	unknown, unreachable := r.pending() > 0, true
	var errs []error
	for _, v := range r.votes {
		unknown = unknown || v.changed() || errors.Is(v.err, backend.ErrUnavailable)
		if v.err != nil {
			unreachable = unreachable && errors.Is(v.err, backend.ErrUnreachable)
			errs = append(errs, v.err)
		}
	}
	kind := backend.ErrRefused
	switch {
	case unknown || len(errs) == 0: // nodes that do not agree: asked again, they may
		kind = backend.ErrUnavailable
	case unreachable:
		kind = backend.ErrUnreachable
	}
	why := words(errs)
	if why == "" {
		why = "the others did not answer in time, or do not agree"
	}
	return fmt.Errorf("%w: redlock: %d of %d nodes answer, %d have to agree: %s",
		kind, len(r.votes)-len(errs), len(r.b.nodes), r.b.quorum(), why)
}
