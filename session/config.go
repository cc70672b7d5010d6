package session

import (
	"crypto/rand"
	"log/slog"
	"time"

	"github.com/lockgw/lockgw/session/journal"
)

// Config of a Manager. The zero value of a field means its default.
type Config struct {
	Node     string        // name of this gateway, shown to others
	Store    string        // address of the store for people, without secrets; its type
	TTL      time.Duration // lease of a hold that asks for none; 30 s
	Delay    time.Duration // how long nobody is granted a name that one held alone and lost; 0
	Timeout  time.Duration // how long one operation may wait for the store; 2 s
	Fairness Fairness
	// KeepHolds leaves the holds to their leases when the Manager is closed, so that
	// nobody else gets a lock while its client still works.
	KeepHolds bool
	Session   Lifetime
	// Journal outlives the process, and Past is what it said at the start: see
	// package journal. nil: the next process is a new node.
	Journal *journal.Journal
	Past    journal.State
	// Rebind is the proof of life of a process that a session of the Past, of that Peer, is
	// bound to; an error if that is gone.
	Rebind func(Process, Peer) (Liveness, error)
	// Refused is when the client of a session was last refused a connection, on
	// CLOCK_BOOTTIME; 0: never. Its silence until then says nothing. nil: nobody is refused.
	Refused func(Options) time.Duration
	Limits  Limits
	Clock   Clock // Boottime
	Log     *slog.Logger

	kernels bool // Clock is Boottime

	Observer Observer  // nil: nobody is told what happens
	History  Historian // nil: nobody remembers it
}

// Fairness decides the order between nodes. Callers of one node are always
// served first in, first out.
type Fairness struct {
	// Strict serves the callers of all nodes in one order, each grant by the
	// store. Otherwise a node that holds a name passes it on among its own
	// callers, in turns.
	Strict bool
	// MaxTurns and MaxTurnTime bound how long a node keeps a name while another
	// node waits; 64 and 50 ms. A turn under way is not cut short.
	MaxTurns    int
	MaxTurnTime time.Duration
	// ExactOwner writes the owner of every turn into the store before the owner
	// is told of it, at the price of a request per turn.
	ExactOwner bool
	// Retain is how long a node keeps a name that nobody uses, if nobody else waits; 0.
	Retain time.Duration
}

// Lifetime of sessions.
type Lifetime struct {
	Keepalive        time.Duration // silence that ends a session which asks for no other; 60 s
	AnonymousMaxHold time.Duration // of a hold without proof of life; 1 h
	// Reattach is how long a session that lives by its connections may be without
	// one after a restart of the gateway; 10 s.
	Reattach time.Duration
}

// Limits refuse what goes beyond them. Nothing is clamped.
type Limits struct {
	MaxWait         time.Duration // 5 min
	MinTTL, MaxTTL  time.Duration // 1 s, 24 h or what the store allows
	MaxKeepalive    time.Duration // MaxTTL of the configuration, whatever the store allows
	WaitersPerLock  int           // 10,000
	HoldsPerSession int           // 1,024
	HoldsPerUser    int           // 65,536; what min_hold keeps counts, and administrators have none
	WaitsPerSession int           // 64
	Sessions        int           // 100,000; the last hundredth is for administrators
	SessionsPerUser int           // 20,000
	Entries         int           // re-entries of one hold; 1,000
	AnswersPerUser  int           // remembered of requests with a key; 65,536
	Answers         int           // 131,072, as many as the journal keeps
}

func or[T comparable](p *T, def T) {
	var zero T
	if *p == zero {
		*p = def
	}
}

func (c Config) withDefaults() Config {
	or(&c.TTL, 30*time.Second)
	or(&c.Timeout, 2*time.Second)
	or(&c.Fairness.MaxTurns, 64)
	or(&c.Fairness.MaxTurnTime, 50*time.Millisecond)
	or(&c.Session.Keepalive, time.Minute)
	or(&c.Session.AnonymousMaxHold, time.Hour)
	or(&c.Session.Reattach, 10*time.Second)
	or(&c.Limits.MaxWait, 5*time.Minute)
	or(&c.Limits.MinTTL, time.Second)
	or(&c.Limits.MaxTTL, 24*time.Hour)
	or(&c.Limits.MaxKeepalive, c.Limits.MaxTTL)
	or(&c.Limits.WaitersPerLock, 10_000)
	or(&c.Limits.HoldsPerSession, 1024)
	or(&c.Limits.HoldsPerUser, 65_536)
	or(&c.Limits.WaitsPerSession, 64)
	or(&c.Limits.Sessions, 100_000)
	or(&c.Limits.SessionsPerUser, 20_000)
	or(&c.Limits.Entries, 1000)
	or(&c.Limits.Answers, journal.MostAnswers)
	or(&c.Limits.AnswersPerUser, min(65_536, c.Limits.Answers))
	if c.Fairness.Strict {
		c.Fairness.MaxTurns = 1
	}
	if len(c.Past.Secret) == 0 {
		c.Past.Secret = make([]byte, 32)
		_, _ = rand.Read(c.Past.Secret) // never fails, see its documentation
	}
	if c.Clock == nil {
		c.Clock, c.kernels = Boottime, true
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}
