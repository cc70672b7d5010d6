// Package session decides who waits for a lock, who holds it, for how long and
// why that ended. It leaves to a backend what the store keeps, and to the fronts
// (api, socket) how a client says what it wants.
//
// A client is a Session: a secret Token finds it, its UUID and a thread number
// make the owner id UUID:thread that stores see. A hold of a session is a Lease. What
// this node does about a name is decided by package contender, and carried out by package
// engine; owner.go is told what becomes of the callers.
//
// Time. Deadlines are kept on CLOCK_BOOTTIME, count from before the request was
// sent, and are looked at where an answer is made (Lease.View); timers only make
// that sooner.
//
// Locks are taken in the order engine.Name, then Session.mu, Manager.mu or Lease.mu. None
// is held across a request to the store.
//
// Goroutines: those of the engine, and one for each Options.Alive. Manager.Close waits
// for all of them. An acquire that waits has that of its caller, or none (Waiter).
//
// More than 25 files stand here, because they share those locks: a lease and its session
// change in one step. What needs none of them is in rooms of its own (answers,
// contender, engine, events, journal, access, listing, peer, history).
package session

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/session/journal"
)

// Liveness blocks until the client of a session is gone and says why, or
// returns ctx's error when the session has ended for another reason.
type Liveness func(ctx context.Context) error

// Options of a session. The zero value lives until Close.
type Options struct {
	Name      string            // for people
	Meta      map[string]string // for people
	Peer      Peer              // who is behind it; NoPeer()
	Account   string            // on which its connections are counted, see Config.Refused
	Access    string            // the access token that it was opened with, hashed; "": with none
	TTL       time.Duration     // lease of its holds where an acquire asks for none
	Keepalive time.Duration     // ends after so long without a sign of life; 0: never
	MaxHold   time.Duration     // no hold lasts longer; 0: no bound
	// OneLock ends the session when its hold has ended, or the last of those it took at once.
	OneLock bool
	// Conns counts connections: the session ends when as many Detach as Attach
	// calls were made, unless Keepalive or Alive is set.
	Conns bool
	// Alive ends the session when it returns. Without Process it is taken for a
	// connection, which does not outlive the gateway.
	Alive Liveness
	// Process is the one that Alive waits for.
	Process Process
	// User is by whom the session is counted: a user of the machine, a token, a
	// certificate; unidentified callers share "".
	User string
	// Administers: the limits leave some room for those who have to clear up.
	Administers bool
	// Key makes a repeat of the same Open, by the same user, return the same session.
	Key string
}

// EndsWithConns: the session lives by nothing but its connections.
func (o Options) EndsWithConns() bool { return o.Conns && o.Keepalive == 0 && o.Alive == nil }

// Process is one, told from every other that has or had its number.
type Process struct {
	PID     int
	Started time.Duration // when it began, on CLOCK_BOOTTIME

	// UID and Command are for people; nobody is told from others by them.
	UID     int
	Command string
}

// is: p and q are one process.
func (p Process) is(q Process) bool { return p.PID == q.PID && p.Started == q.Started }

// Life is what a session lives by; its kinds are those of package journal.
type Life = journal.Life

// Session is a client that can hold locks.
type Session struct {
	m      *Manager
	id     string
	uuid   string
	hash   tokenHash
	key    string // see keyOf
	o      Options
	since  time.Time
	ctx    context.Context // ends with the session
	cancel context.CancelCauseFunc
	shown  atomic.Pointer[Peer] // see Show; nil: who has opened it

	mu        sync.Mutex // guards the fields below
	closed    bool
	seen      time.Duration      // the last sign of life, on the clock
	holds     map[holdKey]*Lease // made by keepHold
	waiting   []*Lease           // acquires under way: few, see Limits.WaitsPerSession
	lost      map[holdKey]*Error // holds that were lost and not asked for since; made by keepLost
	spent     bool               // a session of one lock whose lock was released
	gathering int                // AcquireAlls under way
	conns     int
	replays   replays
	silence   *time.Timer // runs checkSilence
	retire    *time.Timer // made by retireLocked
	returns   *time.Timer // runs checkReturn
}

type holdKey struct {
	name   string
	thread int64
}

// lostGrace is how long a session of one lock can still be asked what became of
// a hold that was lost.
const lostGrace = 10 * time.Minute

// repeatGrace is how long a session of one lock can still be asked again what it
// has answered to a request with an id.
const repeatGrace = 2 * time.Minute

const releasedReason = "its lock was released"

// ID tells sessions apart for people; it gives no right.
func (s *Session) ID() string { return s.id }

// UUID is the first part of the session's owner ids.
func (s *Session) UUID() string { return s.uuid }

// Options are what the session was opened with.
func (s *Session) Options() Options { return s.o }

// Since is when the session was opened.
func (s *Session) Since() time.Time { return s.since }

// Touch is a sign of life.
func (s *Session) Touch() { _ = s.touch() }

// touch is Touch. The error is why the session has ended: the sign came too late.
func (s *Session) touch() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.Err()
	}
	s.touchLocked()
	return nil
}

func (s *Session) touchLocked() {
	if s.o.Keepalive > 0 {
		s.seen = s.m.cfg.Clock()
	}
}

// Done is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.ctx.Done() }

// Err says why the session has ended, nil while it has not.
func (s *Session) Err() error {
	if s.ctx.Err() == nil {
		return nil
	}
	return context.Cause(s.ctx)
}

// gone is why an acquire cannot go on, nil if it can: when all sessions end, that of the gateway.
func (s *Session) gone(name string) error {
	if s.m.drained.Err() != nil {
		return s.m.drainingError(name)
	}
	return s.Err()
}

// life is what the session lives by. What it may end by besides are its Options.
func (s *Session) life() Life {
	switch o := s.o; {
	case o.Process.PID != 0:
		return journal.Process
	case o.Keepalive > 0:
		return journal.Keepalive
	case o.Conns, o.Alive != nil:
		return journal.Connection
	default:
		return journal.MaxHold
	}
}

// live starts what may end the session, unless it has ended already: Manager.Close waits for
// what was started before.
func (s *Session) live() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if s.o.Keepalive > 0 {
		s.silence = time.AfterFunc(s.o.Keepalive, s.checkSilence)
	}
	if s.o.Alive == nil {
		return
	}
	s.m.wg.Go(func() {
		err := s.o.Alive(s.ctx)
		if s.ctx.Err() != nil {
			return
		}
		reason := "its client is gone"
		if err != nil {
			reason = err.Error()
		}
		s.closeSoon(reason)
	})
}

// checkSilence ends a session that was silent for too long. One that waits is
// not silent: its request is there.
func (s *Session) checkSilence() {
	s.closeIf(s.silentLocked, "no request for "+s.o.Keepalive.String())
}

// silentLocked: the session was silent for too long. If not, it is looked at again
// when it would have been.
func (s *Session) silentLocked() bool {
	rest := s.silenceLeftLocked()
	if rest > 0 {
		s.silence.Reset(rest)
	}
	return rest <= 0
}

// silenceLeftLocked is how long the session may go on being silent. Who is refused a
// connection cannot speak.
func (s *Session) silenceLeftLocked() time.Duration {
	if len(s.waiting) > 0 {
		return s.o.Keepalive
	}
	since := s.seen
	if s.m.cfg.Refused != nil {
		since = max(since, s.m.cfg.Refused(s.o))
	}
	return since + s.o.Keepalive - s.m.cfg.Clock()
}

// silentAt is when the session is over if nothing more is heard of it; false: it does not live by that.
func (s *Session) silentAt() (at time.Duration, so bool) {
	if s.o.Keepalive <= 0 {
		return 0, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.m.cfg.Clock() + s.silenceLeftLocked(), true
}

// Outlives tells whether the session lives on when one of its connections ends.
func (s *Session) Outlives() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns > 1 || !s.o.EndsWithConns()
}

// Attach and Detach count the connections of a session with Options.Conns.
func (s *Session) Attach() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.Err()
	}
	if s.conns++; s.returns != nil {
		s.returns.Stop()
		s.returns = nil
		s.m.cfg.Journal.Away(s.id, 0)
	}
	return nil
}

// Detach: see Attach.
func (s *Session) Detach(reason string) {
	s.closeIf(func() bool {
		s.conns--
		return s.conns == 0 && s.o.EndsWithConns()
	}, reason)
}
