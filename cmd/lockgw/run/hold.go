package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

// longestWait is how long one request waits at most; a longer wait is made of
// several. It is the gateway's default lock.max_wait.
const longestWait = 5 * time.Minute

// showTimeout bounds how long the gateway may take to learn who the command is.
const showTimeout = 5 * time.Second

// hold is the locks of one command. They live by the guardian, or, where that is
// not to be had, by the connection of this process.
type hold struct {
	o        *options
	client   atomic.Pointer[gateway] // the present connection
	guardian *guardian               // that the session is bound to, if it is
	away     bool                    // the gateway went away while this run waited
	bound    bool                    // to the guardian: a connection that ends is replaced
	socket   string
	owner    string // of the session's only thread
	token    client.Token
	views    []client.Hold // in the order of the names, as they were granted
	since    time.Duration // CLOCK_BOOTTIME when the last one was granted

	traceparent string // of the acquire, for the command; "": what is in the environment stays

	lost     chan client.Notice // at most one: the first is enough
	jeopardy chan client.Notice // at most one is pending

	reads chan []client.Hold // what watch has read
	poke  chan struct{}      // makes watch read at once
	over  chan error         // at most one: why nothing can be read any more, and nothing is held
	ctx   context.Context    // of watch
	quit  context.CancelFunc
	wg    sync.WaitGroup
}

func newHold(o *options) *hold {
	h := &hold{
		o: o, lost: make(chan client.Notice, 1), jeopardy: make(chan client.Notice, 1),
		reads: make(chan []client.Hold), poke: make(chan struct{}, 1), over: make(chan error, 1),
	}
	h.ctx, h.quit = context.WithCancel(context.Background())
	return h
}

// acquire connects and takes all locks, or none, for the guardian. Its error has
// an exit code.
func acquire(ctx context.Context, o *options, r *report, k *guardian) (*hold, error) {
	h := newHold(o)
	err := h.connect(ctx, k)
	if err == nil {
		err = h.lockAll(ctx, r)
	}
	if err == nil {
		h.since = session.Boottime()
		err = h.refresh(ctx)
	}
	if err != nil {
		h.close() // lets go of those already granted
		return nil, err
	}
	return h, nil
}

// refresh reads the deadlines again: during the wait for one lock the locks before it were
// renewed, or lost while there was no connection on which that could be told.
func (h *hold) refresh(ctx context.Context) error {
	info, err := h.session(ctx)
	if h.lostAll(err) {
		return h.lostBefore(h.views[0].Name)
	}
	if err != nil {
		return notCommands(cli.GatewayError(h.socket, err))
	}
	for i, v := range h.views {
		at := slices.IndexFunc(info.Holds, func(w client.Hold) bool { return w.Name == v.Name })
		if at < 0 {
			return h.lostBefore(v.Name)
		}
		h.views[i] = info.Holds[at]
	}
	return nil
}

// lostAll tells whether err means that the locks are lost with their session, as where the
// gateway was restarted without its state.
func (h *hold) lostAll(err error) bool {
	return errors.Is(err, client.ErrNoSession) && len(h.views) > 0
}

// lostBefore is the error for a name that is not held any more before there is a command.
func (h *hold) lostBefore(name string) error {
	if err := notToStart(h, nil); err != nil { // which has the reason
		return err
	}
	return cli.Exit(cli.ExitLost, fmt.Errorf("%s was lost before the command was started: not run", name))
}

func (h *hold) connect(ctx context.Context, k *guardian) (err error) {
	h.guardian = k
	if h.socket, err = h.o.Path(); err != nil {
		return notCommands(err)
	}
	if err := h.dial(ctx); err != nil {
		return notCommands(err)
	}
	if err := h.bind(ctx, k.p.Pid); err != nil {
		return err
	}
	if h.bound { // until there is a command it is this process that waits, not the guardian
		h.showAs(ctx, os.Getpid())
	}
	info, err := h.session(ctx)
	if err != nil {
		return notCommands(cli.GatewayError(h.socket, err))
	}
	h.owner = info.UUID + ":1"
	if !h.bound {
		h.token = info.Token
	}
	if path, err := filepath.Abs(h.socket); err == nil {
		h.socket = path // for those who work in another directory
	}
	return nil
}

// session asks for what the session holds; a gateway that hangs counts as away.
func (h *hold) session(ctx context.Context) (client.SessionInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, cli.DialTimeout)
	defer cancel()
	return sessionOf(ctx, h.gateway())
}

// bind opens a session that lives as long as the process pid, whatever becomes of
// connections. Where the gateway cannot watch the process, as from a container with
// process ids of its own, there is none, and the session lives by its connection.
func (h *hold) bind(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, cli.DialTimeout)
	defer cancel()
	token, err := h.gateway().BindSession(ctx, pid)
	switch {
	case err == nil:
		h.token, h.bound = token, true
		return nil
	case errors.Is(err, client.ErrInvalid), errors.Is(err, client.ErrUnsupported):
		return nil
	default:
		return notCommands(cli.GatewayError(h.socket, err))
	}
}

// dial connects, to the session of h if it has a token.
func (h *hold) dial(ctx context.Context) error {
	g, err := h.o.connect(ctx, client.Options{Token: h.token, OnNotice: h.notice})
	if err != nil {
		return err
	}
	h.client.Store(&g)
	return nil
}

// gateway is the present connection, nil while there is none.
func (h *hold) gateway() gateway {
	if g := h.client.Load(); g != nil {
		return *g
	}
	return nil
}

// notice must not block: it runs where the connection is read.
func (h *hold) notice(n client.Notice) {
	c := h.jeopardy
	if n.Kind == client.Lost {
		c = h.lost
	}
	select {
	case c <- n:
	default:
	}
}

func (h *hold) lockAll(ctx context.Context, r *report) error {
	o, start := h.o, time.Now()
	for _, name := range o.names {
		stop := h.showWait(ctx, r, name, start)
		waiting, cancel := h.untilLost(ctx)
		v, err := h.lock(waiting, r, name, start)
		cancel()
		stop()
		if h.lostAll(err) {
			return h.lostBefore(h.views[0].Name)
		}
		if err != nil {
			return cmp.Or(notToStart(h, nil), h.notLocked(ctx, name, err))
		}
		h.views = append(h.views, v)
		waited := time.Since(start)
		e := event{Event: "acquired", Lock: name, Fence: v.Fence, WaitedMS: waited.Milliseconds()}
		if o.json || waited > showAfter { // a line for a lock that was free is noise to people
			r.say(may, e, "got %s after %s (fence %d)", name, cli.Age(waited), v.Fence)
		}
	}
	return nil
}

// lock asks again and again until the wait is over. Each request goes to the end of the
// queue, so each waits for as long as the gateway allows. If the gateway goes away meanwhile,
// lock waits for it to come back, and loses its place in the queue.
func (h *hold) lock(ctx context.Context, r *report, name string, start time.Time) (client.Hold, error) {
	o := h.o
	for longest := longestWait; ; {
		wait := longest
		if !o.forever {
			wait = min(wait, max(0, o.wait-time.Since(start)))
		}
		v, err := h.ask(ctx, name, wait)
		switch {
		case errors.Is(err, client.ErrNotAcquired) && (o.forever || wait == longest):
		case errors.Is(err, client.ErrWaitTooLong) && longest > time.Second:
			longest /= 2
		case err != nil && h.wentAway(ctx, err):
			if err := h.rejoin(ctx, r, start, err); err != nil {
				return v, err
			}
			if err := h.refresh(ctx); isLost(err) {
				return v, err
			}
		default:
			return v, err
		}
	}
}

// ask sends one request. Where the wait is bounded, so is that for the answer of a gateway that
// hangs; it gets as long as one that is restarted.
func (h *hold) ask(ctx context.Context, name string, wait time.Duration) (client.Hold, error) {
	o := h.o
	if !o.forever {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, wait+restartPatience)
		defer cancel()
	}
	return h.gateway().Lock(ctx, name, client.LockOptions{Wait: wait, TTL: o.ttl, Shared: o.shared, Limit: o.limit, Note: o.note})
}

func (h *hold) notLocked(ctx context.Context, name string, err error) error {
	if errors.Is(err, client.ErrNotAcquired) {
		err = cli.NotAcquired(ctx, h.gateway(), name)
	}
	return cli.Conflict(notCommands(cli.GatewayError(h.socket, err)), h.o.conflictCode)
}

// show has the gateway show the command as the holder. Otherwise it would show the guardian,
// which means nothing to people. show does not wait for the gateway.
func (h *hold) show(pid int) {
	h.wg.Go(func() { h.showAs(h.ctx, pid) })
}

func (h *hold) showAs(ctx context.Context, pid int) {
	ctx, cancel := context.WithTimeout(ctx, showTimeout)
	defer cancel()
	if c := h.gateway(); c != nil {
		_ = c.Show(ctx, pid) // an older gateway cannot; the guardian is shown then
	}
}

func (h *hold) names() []string {
	names := make([]string, len(h.views))
	for i, v := range h.views {
		names[i] = v.Name
	}
	return names
}

// close ends the connection; what is still held ends with it or with the guardian.
func (h *hold) close() {
	h.quit()
	h.wg.Wait()
	if g := h.gateway(); g != nil {
		_ = g.Close()
	}
}
