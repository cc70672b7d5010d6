package session

import (
	"context"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session/engine"
)

// Observer is told what happens to holds, to be counted and traced. It decides
// nothing. Its methods must not block and must not call a Manager, a Session or a
// Lease: a lock's mutex may be held. Without an Observer nothing is measured.
type Observer interface {
	// Begin is called before an acquire or a release on behalf of ctx. It returns the
	// context to go on with, which is ctx or made of it.
	Begin(ctx context.Context, o Operation) context.Context
	// Acquired ends what Begin has begun for an acquire; ctx is what it returned.
	Acquired(ctx context.Context, a Acquired)
	// Given ends what Begin has begun for a release.
	Given(ctx context.Context, g Given)
	// Detach returns a context that stands for the operation of ctx in what may outlast
	// it, requests to the store and the hold; nil: nobody follows that.
	Detach(ctx context.Context) context.Context
	// Ended: a hold of which a caller was told is over, by whatever cause.
	Ended(h HoldEnded)
	// Renewed: the store has answered a renewal, or has not.
	Renewed(r Renewed)
}

// Operation is what a caller asks for.
type Operation int

// The operations of callers.
const (
	OpAcquire Operation = iota + 1
	OpRelease
)

// WakePath is how a caller came to a grant.
type WakePath = engine.Path

// The paths. A waiter that is granted by WakePoll was not told by a message in time.
const (
	WakeAnswer = engine.Direct // the store granted it in the answer to a request that began a wait
	WakeLocal  = engine.Local  // another caller of this node passed the turn on
	WakePush   = engine.Push   // a message from the store led to it
	WakePoll   = engine.Poll   // a timer had the store asked again
)

// Acquired is an Acquire that is over.
type Acquired struct {
	Name string
	Mode backend.Mode
	Wait time.Duration // from the call to its end
	Err  error         // nil: held; then, but after a re-entry, the fields below tell more
	// Reentered: the caller held the name already.
	Reentered bool
	Path      WakePath
	Delay     time.Duration // from the decision to grant until the caller was told
	Ahead     int           // callers of this node that waited before this one when it came
	Owner     backend.Owner
	Fence     backend.Fence
}

// Given is a Release that is over: an entry of a hold was given back.
type Given struct {
	Name  string
	Err   error
	Count int             // entries left
	Grant context.Context // Detach of the acquire; nil: none
}

// HoldEnded is a hold that is over.
type HoldEnded struct {
	Name   string
	Held   time.Duration
	Lost   bool
	Reason string          // of a loss: as in the event; else why its session ended; "": released
	Grant  context.Context // Detach of the acquire; nil: none
	Fence  backend.Fence
}

// Renewed is the end of one attempt to renew a lease.
type Renewed struct {
	Name   string
	Took   time.Duration
	Margin time.Duration // what was left of the lease before it, when the answer came; below 0: lost
	TTL    time.Duration
	Err    error
}

// acquire is start, and waits.
func (s *Session) acquire(ctx context.Context, name string, a Acquire, r *receipt) (Grant, error) {
	g, w, err := s.start(ctx, name, a, r)
	if w != nil {
		return w.wait()
	}
	return g, err
}

// start is contend, observed.
func (s *Session) start(ctx context.Context, name string, a Acquire, r *receipt) (Grant, *Waiter, error) {
	began := time.Now()
	if o := s.m.cfg.Observer; o != nil {
		ctx = o.Begin(ctx, OpAcquire)
	}
	g, w, err := s.contend(ctx, name, a, r, began)
	if w == nil {
		s.decided(ctx, name, &a, g, err, began)
	}
	return g, w, err
}

// decided tells those who keep account what became of an acquire that began then.
func (s *Session) decided(ctx context.Context, name string, a *Acquire, g Grant, err error, began time.Time) {
	if err != nil {
		s.recordRefusal(name, a, began, err)
	}
	o := s.m.cfg.Observer
	if o == nil {
		return
	}
	seen := Acquired{Name: name, Mode: a.mode(), Wait: time.Since(began), Err: err, Reentered: err == nil && !g.New}
	if l := g.Lease; err == nil && g.New {
		seen.Path, seen.Delay, seen.Ahead, seen.Owner, seen.Fence = l.wakePath(), time.Since(l.holderNow().Since), l.c.Ahead, l.c.Owner, l.Fence()
	}
	o.Acquired(ctx, seen)
}

// release is surrender, observed.
func (s *Session) release(ctx context.Context, name string, thread int64, all bool, seen *backend.Fence, answer *receipt) (Released, error) {
	o := s.m.cfg.Observer
	if o == nil {
		return s.surrender(ctx, name, thread, all, seen, answer)
	}
	var grant context.Context
	if l, err := s.Lease(name, thread); err == nil {
		grant = l.parentCtx
	}
	ctx = o.Begin(ctx, OpRelease)
	r, err := s.surrender(ctx, name, thread, all, seen, answer)
	o.Given(ctx, Given{Name: name, Err: err, Count: r.Count, Grant: grant})
	return r, err
}

// detach is what stands for ctx in what may outlast it; nil: nothing.
func (m *Manager) detach(ctx context.Context) context.Context {
	if m.cfg.Observer == nil {
		return nil
	}
	return m.cfg.Observer.Detach(ctx)
}

func (l *Lease) observeEnd(e EventType, reason string) {
	if o := l.m.cfg.Observer; o != nil {
		at := time.Now()
		if e == EventLost {
			at = l.lostAt()
		}
		o.Ended(HoldEnded{
			Name: l.name, Held: at.Sub(l.holderNow().Since), Lost: e == EventLost, Reason: reason, Grant: l.parentCtx, Fence: l.c.Fence,
		})
	}
}

func (l *Lease) wakePath() WakePath {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.path
}
