// Package requests carries scripts to the servers of a store in Redis: by the hash that a
// server knows them by, many in one batch, and after a key that a cluster has moved. It
// tells by an error whether a script may have run; what scripts do is no business of its.
package requests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
	"github.com/lockgw/lockgw/backend/redis/servers"
)

// Router runs scripts on the servers that have their keys, by a pipeline for each.
// A request that has to go elsewhere is sent there by its own caller, so that it
// holds up no other.
type Router struct {
	servers servers.Set

	mu        sync.RWMutex // guards the fields below
	pipelines map[*goredis.Client]*pipeline
	closed    bool
}

// New makes a Router to s, which has to outlive it.
func New(s servers.Set) *Router {
	return &Router{servers: s, pipelines: map[*goredis.Client]*pipeline{}}
}

// Eval runs s on the server that has key, the first of m's keys, and returns its reply, nil
// where Redis answers nil.
//
// It returns backend.ErrUnavailable when there was no reply, so that the script may have run
// or may still run, and backend.ErrRefused when it certainly has not run. Any other error is
// a reply of the script itself. It does not wait beyond ctx's deadline.
func (r *Router) Eval(ctx context.Context, key string, s *Script, m *Message) (any, error) {
	v, err := r.EvalThere(ctx, key, s, m)
	if !s.byHash && Elsewhere(err) {
		return r.Follow(ctx, s, m, err)
	}
	return v, err
}

// Elsewhere says that the keys of the request are at another server, or on their way there.
func Elsewhere(err error) bool {
	return errors.Is(err, conn.ErrElsewhere) || errors.Is(err, conn.ErrHalfway)
}

// EvalThere is Eval, but that nobody follows where a cluster has moved keys; see Elsewhere.
func (r *Router) EvalThere(ctx context.Context, key string, s *Script, m *Message) (any, error) {
	client, err := r.servers.Of(ctx, key)
	if err != nil {
		return nil, err
	}
	p, err := r.pipeline(ctx, client)
	if err != nil {
		return nil, err
	}
	v, err := p.eval(ctx, key, s, m)
	if Elsewhere(err) || conn.Deposed(err) || errors.Is(err, backend.ErrUnavailable) || errors.Is(err, backend.ErrUnreachable) {
		r.servers.Failed(ctx)
	}
	return v, err
}

// stillMoving is the pause between two tries while keys are on their way.
const stillMoving = 20 * time.Millisecond

// Follow runs s where a redirection leads, for as long as it leads anywhere and ctx
// lasts; all scripts may be repeated.
func (r *Router) Follow(ctx context.Context, s *Script, m *Message, why error) (any, error) {
	for {
		cmd := goredis.NewCmd(ctx, m.args("eval", &s.Source)...)
		err := r.servers.Follow(ctx, cmd)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil, why
		}
		err = conn.Outcome(err)
		if !Elsewhere(err) {
			return cmd.Val(), afterAll(err)
		}
		if !backend.Wait(ctx, stillMoving) {
			return nil, afterAll(err)
		}
	}
}

// afterAll: the last server has refused, but one before it may have begun.
func afterAll(err error) error {
	if errors.Is(err, backend.ErrRefused) {
		return fmt.Errorf("%w: %s", backend.ErrUnavailable, err.Error()) // and no ErrRefused any more
	}
	return err
}

// pipeline is the one to client, made when it is needed first.
func (r *Router) pipeline(ctx context.Context, client *goredis.Client) (*pipeline, error) {
	r.mu.RLock()
	p, closed := r.pipelines[client], r.closed
	r.mu.RUnlock()
	switch {
	case closed:
		return nil, conn.ErrClosed
	case p != nil:
		return p, nil
	}
	masters, err := r.servers.Masters(ctx) // a new server often takes the place of another
	if err != nil {
		return nil, err
	}
	p, gone, err := r.add(client, masters)
	for _, old := range gone {
		old.Close()
	}
	return p, err
}

// add makes the pipeline to client and drops those to servers that are not masters
// any more.
func (r *Router) add(client *goredis.Client, masters []*goredis.Client) (p *pipeline, gone []*pipeline, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, nil, conn.ErrClosed
	}
	for c, old := range r.pipelines {
		if c != client && !slices.Contains(masters, c) {
			delete(r.pipelines, c)
			gone = append(gone, old)
		}
	}
	if p = r.pipelines[client]; p == nil {
		p = startPipeline(client)
		r.pipelines[client] = p
	}
	return p, gone, nil
}

// Close refuses new requests and those that were not sent yet, and waits for the replies to
// the others.
func (r *Router) Close() {
	r.mu.Lock()
	all := r.pipelines
	r.pipelines, r.closed = nil, true
	r.mu.Unlock()
	for _, p := range all {
		p.Close()
	}
}
