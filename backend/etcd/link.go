package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend"
)

// turn is a lock for which nobody waits longer than for the request that needs it.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return backend.ErrUnreachable
	}
}

func (t turn) end() { <-t }

// link is the connection. A client with a password asks for a token when it is made, so it
// is made when it is first needed.
type link struct {
	open   func() (*clientv3.Client, error)
	busy   turn // somebody makes the client, or closes it
	c      atomic.Pointer[clientv3.Client]
	closed bool

	beats turn // guards the fields below, and is kept while etcd is asked
	beat  pb.Lease_LeaseKeepAliveClient
	stop  context.CancelFunc
}

func newLink(open func() (*clientv3.Client, error)) link {
	return link{open: open, busy: newTurn(), beats: newTurn()}
}

// client is an error if there was no way to make one: then nothing was sent.
func (l *link) client(ctx context.Context) (*clientv3.Client, error) {
	if err := ctx.Err(); err != nil {
		return nil, backend.NotSent("given up before it was sent to etcd: " + err.Error())
	}
	if c := l.c.Load(); c != nil {
		return c, nil
	}
	if err := l.busy.take(ctx); err != nil {
		return nil, err
	}
	defer l.busy.end()
	if l.closed {
		return nil, backend.NotSent("the connection to etcd is closed")
	}
	if c := l.c.Load(); c != nil {
		return c, nil
	}
	c, err := l.open()
	if err != nil {
		return nil, unsent(err)
	}
	l.c.Store(c)
	return c, nil
}

func (l *link) close() {
	_ = l.busy.take(context.Background()) // that does not end
	defer l.busy.end()
	l.closed = true
	if c := l.c.Load(); c != nil {
		_ = c.Close() // what was under way was given up, and it says so
	}
}

// keepAlive has a lease last for its ttl from now on. backend.ErrNotHeld: it has expired.
//
// One stream is kept for all, since with a password each costs a login. It is not the
// client library's KeepAliveOnce, which asks again without a pause while nobody answers.
func (l *link) keepAlive(ctx context.Context, id clientv3.LeaseID) (ttl time.Duration, err error) {
	c, err := l.client(ctx)
	if err != nil {
		return 0, err
	}
	if err := l.beats.take(ctx); err != nil {
		return 0, err
	}
	defer l.beats.end()
	old := l.beat != nil
	ttl, err = l.ask(ctx, c, id)
	// The stream may have been of a connection that is gone, and a new one may go to a learner.
	for n := attempts * len(c.Endpoints()); err != nil && (old || learns(err)) && n > 0 && ctx.Err() == nil; n-- {
		old = false
		ttl, err = l.ask(ctx, c, id)
	}
	switch {
	case err != nil:
		return 0, outcome(ctx, err)
	case ttl <= 0:
		return 0, fmt.Errorf("%w: the lease has expired", backend.ErrNotHeld)
	}
	return ttl, nil
}

// ask sends one request and waits for its answer; l.beats is taken.
func (l *link) ask(ctx context.Context, c *clientv3.Client, id clientv3.LeaseID) (ttl time.Duration, err error) {
	if l.beat == nil {
		life, stop := context.WithCancel(c.Ctx())
		given := context.AfterFunc(ctx, stop)
		l.beat, err = pb.NewLeaseClient(c.ActiveConnection()).LeaseKeepAlive(life)
		given()
		if err != nil {
			stop()
			l.beat = nil
			return 0, err
		}
		l.stop = stop
	}
	given := context.AfterFunc(ctx, l.stop)
	defer func() {
		if !given() || err != nil {
			l.stop()
			l.beat = nil
		}
	}()
	if err := l.beat.Send(&pb.LeaseKeepAliveRequest{ID: int64(id)}); err != nil && !errors.Is(err, io.EOF) {
		return 0, err // of a stream that has ended the answer says why
	}
	r, err := l.beat.Recv()
	if err != nil {
		return 0, err
	}
	if r.ID != int64(id) {
		return 0, fmt.Errorf("an answer about lease %x, not %x", uint64(r.ID), uint64(id))
	}
	return time.Duration(r.TTL) * time.Second, nil
}
