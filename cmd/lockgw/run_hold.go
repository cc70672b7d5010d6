package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket"
)

// longestWait is how long one request waits at most; a longer wait is made of
// several. It is the gateway's default lock.max_wait.
const longestWait = 5 * time.Minute

// hold is the locks of one command. They live by the connection of this process;
// binding them to the process of the command instead, so that they outlive this
// one, belongs here.
type hold struct {
	client *socket.Client
	socket string
	owner  backend.Owner // of the session's only thread
	token  session.Token
	views  []session.View // in the order of the names, as they were granted
	since  time.Duration  // CLOCK_BOOTTIME when the last one was granted

	gone     <-chan struct{}    // closed when the connection is over
	lost     chan socket.Notice // at most one: the first is enough
	jeopardy chan socket.Notice // at most one is pending

	reads chan []session.View // what watch has read
	poke  chan struct{}       // makes watch read at once
	quit  chan struct{}
	wg    sync.WaitGroup
}

// acquire connects and takes all locks, or none. Its error has an exit code.
func acquire(ctx context.Context, o *runOptions, r *report) (*hold, error) {
	h := &hold{
		lost: make(chan socket.Notice, 1), jeopardy: make(chan socket.Notice, 1),
		reads: make(chan []session.View), poke: make(chan struct{}, 1), quit: make(chan struct{}),
	}
	if err := h.connect(ctx, o); err != nil {
		return nil, err
	}
	if err := h.lockAll(ctx, o, r); err != nil {
		_ = h.client.Close() // lets go of those already granted
		return nil, err
	}
	h.since = session.Boottime()
	h.refresh(ctx)
	return h, nil
}

// refresh reads the deadlines again: while one lock was waited for, those before
// it were renewed. That one was lost meanwhile is told elsewhere.
func (h *hold) refresh(ctx context.Context) {
	info, err := h.client.Session(ctx)
	if err != nil {
		return
	}
	for i, v := range h.views {
		if at := slices.IndexFunc(info.Holds, func(w session.View) bool { return w.Name == v.Name }); at >= 0 {
			h.views[i] = info.Holds[at]
		}
	}
}

func (h *hold) connect(ctx context.Context, o *runOptions) (err error) {
	if h.socket, err = o.path(); err != nil {
		return err
	}
	if h.client, err = o.dial(ctx, socket.DialOptions{OnNotice: h.notice}); err != nil {
		return err
	}
	info, err := h.client.Session(ctx)
	if err != nil {
		_ = h.client.Close()
		return gatewayError(h.socket, err)
	}
	h.owner, h.token, h.gone = backend.Owner(info.UUID+":1"), info.Token, h.client.Done()
	return nil
}

// notice must not block: it runs where the connection is read.
func (h *hold) notice(n socket.Notice) {
	c := h.jeopardy
	if n.Kind == session.StateLost {
		c = h.lost
	}
	select {
	case c <- n:
	default:
	}
}

func (h *hold) lockAll(ctx context.Context, o *runOptions, r *report) error {
	start := time.Now()
	for _, name := range o.names {
		stop := h.showWait(ctx, o, r, name, start)
		v, err := h.lock(ctx, o, name, start)
		stop()
		if err != nil {
			return h.notLocked(ctx, o, name, err)
		}
		h.views = append(h.views, v)
		waited := time.Since(start)
		e := event{Event: "acquired", Lock: name, Fence: v.Fence, WaitedMS: waited.Milliseconds()}
		if o.json || waited > showAfter { // a line for a lock that was free is noise to people
			r.say(may, e, "got %s after %s (fence %d)", name, age(waited), v.Fence)
		}
	}
	return nil
}

// lock asks again and again until the wait is over. Each time it goes to the end
// of the queue, so it asks for as long as the gateway allows.
func (h *hold) lock(ctx context.Context, o *runOptions, name string, start time.Time) (session.View, error) {
	for longest := longestWait; ; {
		wait := longest
		if !o.forever {
			wait = min(wait, max(0, o.wait-time.Since(start)))
		}
		v, err := h.client.Lock(ctx, name, socket.LockOptions{Wait: wait, TTL: o.ttl, Note: o.note})
		switch {
		case errors.Is(err, socket.ErrNotAcquired) && (o.forever || wait == longest):
		case waitTooLong(err) && longest > time.Second:
			longest /= 2
		default:
			return v, err
		}
	}
}

// waitTooLong: lock.max_wait of the gateway is shorter than what was asked.
func waitTooLong(err error) bool {
	var reply *socket.Error
	return errors.As(err, &reply) && reply.Word == "INVALID" && strings.HasPrefix(reply.Text, "wait:")
}

func (h *hold) notLocked(ctx context.Context, o *runOptions, name string, err error) error {
	if errors.Is(err, socket.ErrNotAcquired) {
		err = notAcquired(ctx, h.client, name)
	}
	return conflict(gatewayError(h.socket, err), o.conflictCode)
}

func (h *hold) names() []string {
	names := make([]string, len(h.views))
	for i, v := range h.views {
		names[i] = v.Name
	}
	return names
}

// close ends the connection and with it whatever is still held.
func (h *hold) close() {
	close(h.quit)
	_ = h.client.Close()
	h.wg.Wait()
}
