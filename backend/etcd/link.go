package etcd

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend"
)

// link is the connection. A client with a password asks for a token when it is made, so it
// is made when it is first needed.
type link struct {
	open func() (*clientv3.Client, error)
	// busy has one element while somebody makes the client, or closes it.
	busy   chan struct{}
	c      atomic.Pointer[clientv3.Client]
	closed bool

	beats sync.Mutex // guards the fields below
	beat  pb.Lease_LeaseKeepAliveClient
	stop  context.CancelFunc
}

// client is an error if there was no way to make one: then nothing was sent.
func (l *link) client(ctx context.Context) (*clientv3.Client, error) {
	if err := ctx.Err(); err != nil {
		return nil, backend.NotSent("given up before it was sent to etcd: " + err.Error())
	}
	if c := l.c.Load(); c != nil {
		return c, nil
	}
	select {
	case l.busy <- struct{}{}:
		defer func() { <-l.busy }()
	case <-ctx.Done():
		return nil, backend.ErrUnreachable
	}
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
	l.busy <- struct{}{}
	defer func() { <-l.busy }()
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
	l.beats.Lock()
	defer l.beats.Unlock()
	old := l.beat != nil
	ttl, err = l.ask(ctx, c, id)
	if err != nil && old && ctx.Err() == nil { // the stream was of a connection that is gone
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

// ask sends one request and waits for its answer; l.beats is locked.
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
	if err := l.beat.Send(&pb.LeaseKeepAliveRequest{ID: int64(id)}); err != nil {
		return 0, err
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
