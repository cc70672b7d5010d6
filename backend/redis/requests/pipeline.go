package requests

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
)

const (
	lanes    = 2
	maxBatch = 128
	// maxQueued per lane; more callers than that wait to be queued.
	maxQueued = 1024
)

// pipeline runs scripts for many callers over few connections: what comes in
// while a lane waits for its replies leaves as one batch, in one write. A caller
// that finds its lane idle sends its request itself, which spares two goroutines
// from being woken.
//
// Requests of one name take the same lane and reach Redis in the order in which
// they were queued. When a batch has failed, what was sent of it may still arrive
// after later requests, as with any connection that is given up.
type pipeline struct {
	seed   maphash.Seed
	lanes  [lanes]*lane
	room   sync.RWMutex // held while a batch is under way; locked by a lane that the others are to make room for
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// startPipeline makes a pipeline over client, which has to outlive it.
func startPipeline(client *goredis.Client) *pipeline {
	ctx, cancel := context.WithCancel(context.Background())
	p := &pipeline{seed: maphash.MakeSeed(), cancel: cancel}
	for i := range p.lanes {
		l := &lane{client: client, room: &p.room, queue: make(chan *call, maxQueued), stopped: make(chan struct{}), known: map[*Script]bool{}}
		p.lanes[i] = l
		p.wg.Go(func() { l.run(ctx) })
	}
	return p
}

// eval runs s and returns its reply, nil where Redis answers nil. name decides the
// order, see pipeline.
//
// It returns backend.ErrUnavailable when there was no reply: the script may have
// run or may still run. It does not wait beyond ctx's deadline; that ctx is
// canceled is noticed at once by those who were not alone in their lane. It returns backend.ErrRefused
// when it certainly has not run. Any other error is a reply of the script itself.
func (p *pipeline) eval(ctx context.Context, name string, s *Script, m *Message) (any, error) {
	l := p.lanes[maphash.String(p.seed, name)%lanes]
	c := &call{ctx: ctx, script: s, message: m}
	if l.alone(c) {
		return c.val, c.err
	}
	c.done = make(chan struct{})
	if err := l.submit(c); err != nil {
		return nil, err
	}
	return l.wait(c)
}

// Close refuses new requests and those not sent yet, and waits for the replies to
// the others.
func (p *pipeline) Close() {
	p.cancel()
	p.wg.Wait()
	for _, l := range p.lanes {
		l.turn.Lock() // until the one that is alone has its reply
		l.closed = true
		l.turn.Unlock()
	}
}

// call is a request on its way; val and err are set once done is closed.
type call struct {
	ctx     context.Context // of the caller
	script  *Script
	message *Message
	cmd     *goredis.Cmd
	done    chan struct{} // nil if the caller sends it
	val     any
	err     error
}

// lane sends one batch at a time.
type lane struct {
	client  *goredis.Client
	room    *sync.RWMutex // of the pipeline
	queue   chan *call
	stopped chan struct{} // closed when run has returned
	calls   atomic.Int32  // queued or under way

	turn   sync.Mutex // the right to send; guards the fields below
	closed bool
	known  map[*Script]bool // scripts that this Redis has seen
}

// alone sends c at once if nothing is queued or under way.
func (l *lane) alone(c *call) bool {
	if !l.calls.CompareAndSwap(0, 1) {
		return false
	}
	defer l.calls.Add(-1)
	l.turn.Lock()
	defer l.turn.Unlock()
	switch {
	case l.closed:
		c.err = conn.ErrClosed
	case c.ctx.Err() != nil:
		c.err = unanswered(c.ctx)
	default:
		l.flow(c.ctx, []*call{c})
	}
	return true
}

func (l *lane) submit(c *call) error {
	l.calls.Add(1)
	select {
	case l.queue <- c:
		return nil
	case <-c.ctx.Done():
		l.calls.Add(-1)
		return unanswered(c.ctx)
	case <-l.stopped:
		l.calls.Add(-1)
		return conn.ErrClosed
	}
}

func (l *lane) wait(c *call) (any, error) {
	select {
	case <-c.done:
		return c.val, c.err
	case <-c.ctx.Done():
		return nil, unanswered(c.ctx)
	case <-l.stopped:
	}
	select {
	case <-c.done:
		return c.val, c.err
	default:
		return nil, conn.ErrClosed
	}
}

func unanswered(ctx context.Context) error {
	return fmt.Errorf("%w: no reply from Redis in time: %w", backend.ErrUnavailable, context.Cause(ctx))
}

func (l *lane) run(ctx context.Context) {
	defer close(l.stopped)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case first := <-l.queue:
			l.next(ctx, first)
		}
	}
}

func (l *lane) next(ctx context.Context, first *call) {
	l.turn.Lock()
	defer l.turn.Unlock()
	b, taken := l.batch(first)
	defer l.calls.Add(int32(-taken))
	// Detached: a batch under way gets its replies, bounded by the client's own
	// timeouts.
	l.flow(context.WithoutCancel(ctx), b)
}

// batch takes first and what is queued behind it. Who has gone is left out: a
// request that nobody waits for any more would only be late.
func (l *lane) batch(first *call) (b []*call, taken int) {
	b = make([]*call, 0, 16)
	for c := first; ; {
		taken++
		if c.ctx.Err() == nil {
			b = append(b, c)
		}
		if len(b) == maxBatch {
			return b, taken
		}
		select {
		case c = <-l.queue:
		default:
			return b, taken
		}
	}
}

// flow sends a batch and answers its callers. What Redis has not run because it
// has forgotten the script is sent again, once, before anything queued later.
//
// Redis forgets all scripts at once, so the requests of a name keep their order,
// but for a script that another client brings back between two of them: then the
// second runs before the first. That is harmless: a write compares the version, and one name
// has one write of a node under way.
func (l *lane) flow(ctx context.Context, b []*call) {
	l.send(ctx, b)
	var again []*call
	for _, c := range b {
		if c.err != nil && goredis.HasErrorPrefix(c.err, "NOSCRIPT") && !c.script.byHash {
			again = append(again, c)
		} else {
			l.finish(c)
		}
	}
	if len(again) == 0 {
		return
	}
	clear(l.known)
	l.send(ctx, again)
	for _, c := range again {
		l.finish(c)
	}
}

// send sends a batch. Where Redis takes no connection more, it goes over that of the other lane.
func (l *lane) send(ctx context.Context, b []*call) {
	l.room.RLock()
	l.write(ctx, b)
	l.room.RUnlock()
	if len(b) == 0 || !errors.Is(b[0].err, conn.ErrTurnedAway) { // all of them went the same way
		return
	}
	clear(l.known)
	l.room.Lock()
	defer l.room.Unlock()
	l.write(ctx, b)
}

// write writes a batch at once and reads all replies. A script travels in full the
// first time: if Redis refused one and ran the next, their order would be lost.
func (l *lane) write(ctx context.Context, b []*call) {
	switch len(b) {
	case 0:
		return
	case 1:
		b[0].val, b[0].err = l.client.Do(ctx, l.address(b[0])...).Result()
		return
	}
	pipe := l.client.Pipeline()
	for _, c := range b {
		c.cmd = pipe.Do(ctx, l.address(c)...)
	}
	_, failed := pipe.Exec(ctx)
	for _, c := range b {
		c.val, c.err = c.cmd.Result()
		// Where the server turned the connection down, go-redis leaves its commands
		// blank. A script that answers nil has goredis.Nil for an error.
		if c.val == nil && c.err == nil {
			c.err = failed
		}
	}
}

// address is c for the server: the script is named by its hash if Redis has seen it.
func (l *lane) address(c *call) []any {
	if !c.script.byHash && !l.known[c.script] {
		l.known[c.script] = true
		return c.message.args("eval", &c.script.Source)
	}
	return c.message.args("evalsha", &c.script.sha)
}

func (l *lane) finish(c *call) {
	c.err = conn.Outcome(c.err)
	if errors.Is(c.err, backend.ErrUnavailable) || errors.Is(c.err, backend.ErrRefused) {
		clear(l.known) // the next answer may come from a server that has seen none of them
	}
	if c.done != nil {
		close(c.done)
	}
}
