package quorum

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// RetryAfter is when a node begins again to listen, or tries again what it needs for that. One
// that lasts less is trouble, although another one begins.
const RetryAfter = 200 * time.Millisecond

// A node that listens asks the store whether it still does.
const (
	ProbeEvery  = 2 * time.Second
	ProbeTime   = 3 * time.Second // for the answer to a probe
	WritesEvery = 5               // probes: the node writes something of its own anew, so that it shows if the store goes back
)

// mostTold is how many reasons are told of members that cannot be reached, until the node listens
// again. Each member has its own; one whose words have a port that changes would fill the log.
const mostTold = 8

// Listening is what a node listens in, such as a session with the store; the zero S is none.
// Before there is one, what is written because of it may send messages to it that nobody hears.
type Listening[S comparable] struct {
	cfg  Listens
	kick chan struct{} // has an element when another one is to be begun

	mu      sync.Mutex // guards the fields below
	present S
	err     error         // why there is none; nil: there is one, or it is nothing to speak of
	soon    bool          // there will be another in a moment
	changed chan struct{} // closed when one of them changes
}

// Listens says how a node of a store listens.
type Listens struct {
	Store string // for people, such as ZooKeeper
	Over  string // for the log, when one is over and another is to be begun
	// Stays: one that is over does for requests, unless it was lost.
	Stays bool
	Log   *slog.Logger
}

// NewListening is of a node that does not listen yet.
func NewListening[S comparable](cfg Listens) *Listening[S] {
	return &Listening[S]{cfg: cfg, kick: make(chan struct{}, 1), changed: make(chan struct{})}
}

// Run has the node listen until life ends, again and again: serve begins one, calls Ready and
// comes back when it is over. began: it has come so far. first: none has yet.
func (l *Listening[S]) Run(life context.Context, serve func(first bool) (began bool, err error)) {
	var told []string
	for first := true; life.Err() == nil; {
		since := time.Now()
		began, err := serve(first)
		first = first && !began
		if life.Err() != nil {
			return
		}
		l.over(began, time.Since(since), err)
		switch {
		case began:
			told = nil
			l.cfg.Log.Warn(l.cfg.Over+"; what is waited for is looked at again", "why", err)
		case errors.Is(err, backend.ErrRefused) && !slices.Contains(told, err.Error()) && (len(told) < mostTold || !errors.Is(err, backend.ErrUnreachable)):
			told = append(told, err.Error())
			l.cfg.Log.Error(l.cfg.Store+" is not used", "why", err)
		}
		backend.Wait(life, RetryAfter)
	}
}

// over: one that has lasted for so long is over, or did not begin, because of err. Requests
// fail if it did not; otherwise they wait for the next one.
func (l *Listening[S]) over(began bool, lasted time.Duration, err error) {
	if began && lasted > RetryAfter {
		err = nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.cfg.Stays {
		l.present = *new(S)
	}
	l.setLocked(err, began)
}

// Ready: the node listens in n.
func (l *Listening[S]) Ready(n S) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.present = n
	l.setLocked(nil, false)
}

func (l *Listening[S]) setLocked(err error, soon bool) {
	l.err, l.soon = err, soon
	select {
	case <-l.kick: // which was about an earlier one
	default:
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// Present is what the node listens in; the zero S: in none.
func (l *Listening[S]) Present() S { l.mu.Lock(); defer l.mu.Unlock(); return l.present }

// Lost: the store is not as this node has left it, so that n is of no use.
func (l *Listening[S]) Lost(n S) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var none S
	if l.present != n || n == none {
		return
	}
	l.present = none
	backend.Signal(l.kick)
}

// Kicked has an element when the present one was lost, and its end is awaited.
func (l *Listening[S]) Kicked() <-chan struct{} { return l.kick }

// Wait waits until there is one, and is that. An error says that nothing was sent.
func (l *Listening[S]) Wait(ctx context.Context) (n S, err error) {
	var none S
	for {
		l.mu.Lock()
		n, err, soon, changed := l.present, l.err, l.soon, l.changed
		l.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return none, backend.NotSent("given up before it was sent to " + l.cfg.Store + ": " + ctx.Err().Error())
		case n != none:
			return n, nil
		case err != nil && !soon:
			return none, Unasked(err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return none, backend.ErrUnreachable
		}
	}
}

// Trouble is why the node does not hear others; nil: it does, or does not try.
func (l *Listening[S]) Trouble() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil || errors.Is(l.err, backend.ErrRefused) {
		return l.err
	}
	return fmt.Errorf("%w: messages of other gateways do not arrive: %w", backend.ErrUnavailable, l.err)
}
