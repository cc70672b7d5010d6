package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
)

// router runs scripts on the servers that have their keys, by a pipeline for each.
// A request that has to go elsewhere is sent there by its own caller, so that it
// holds up no other.
type router struct {
	servers servers

	mu        sync.RWMutex // guards the fields below
	pipelines map[*goredis.Client]*pipeline
	closed    bool
}

func newRouter(s servers) *router {
	return &router{servers: s, pipelines: map[*goredis.Client]*pipeline{}}
}

// eval is pipeline.eval on the server that has key, the first of m's keys.
func (r *router) eval(ctx context.Context, key string, s *script, m message) (any, error) {
	client, err := r.servers.of(ctx, key)
	if err != nil {
		return nil, err
	}
	p, err := r.pipeline(ctx, client)
	if err != nil {
		return nil, err
	}
	v, err := p.eval(ctx, key, s, m)
	switch {
	case err == nil:
	case s.byHash && (errors.Is(err, errElsewhere) || errors.Is(err, errHalfway)):
		r.servers.failed(ctx)
	case errors.Is(err, errElsewhere), errors.Is(err, errHalfway):
		return r.follow(ctx, s, m, err)
	case errors.Is(err, backend.ErrUnavailable), errors.Is(err, backend.ErrUnreachable):
		r.servers.failed(ctx)
	}
	return v, err
}

// stillMoving is the pause between two tries while keys are on their way.
const stillMoving = 20 * time.Millisecond

// follow runs s where a redirection leads, for as long as it leads anywhere and ctx
// lasts; all scripts may be repeated. m is the caller's again: a pipeline has answered.
func (r *router) follow(ctx context.Context, s *script, m message, why error) (any, error) {
	m[messageCommand], m[messageScript] = "eval", s.source
	for {
		cmd := goredis.NewCmd(ctx, m...)
		err := r.servers.follow(ctx, cmd)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil, why
		}
		err = outcome(err)
		if !errors.Is(err, errElsewhere) && !errors.Is(err, errHalfway) {
			return cmd.Val(), afterAll(err)
		}
		select {
		case <-ctx.Done():
			return nil, afterAll(err)
		case <-time.After(stillMoving):
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
func (r *router) pipeline(ctx context.Context, client *goredis.Client) (*pipeline, error) {
	r.mu.RLock()
	p, closed := r.pipelines[client], r.closed
	r.mu.RUnlock()
	switch {
	case closed:
		return nil, errClosed
	case p != nil:
		return p, nil
	}
	masters, err := r.servers.masters(ctx) // a new server often takes the place of another
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
func (r *router) add(client *goredis.Client, masters []*goredis.Client) (p *pipeline, gone []*pipeline, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, nil, errClosed
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

// Close is pipeline.Close for each.
func (r *router) Close() {
	r.mu.Lock()
	all := r.pipelines
	r.pipelines, r.closed = nil, true
	r.mu.Unlock()
	for _, p := range all {
		p.Close()
	}
}
