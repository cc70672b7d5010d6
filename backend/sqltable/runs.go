package sqltable

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/selftest"
)

// Runs is what a gateway knows of the runs of its database. A grant needs one that is trusted.
//
// The database names one run, by an id. Where it names none, or one that is over, a gateway
// makes it name the present one, which counts when every lease that may have been forgotten is
// over; or at once, if no gateway has ever used the database. How a run is told from another,
// and how a grant looks for it, each database knows for itself.
type Runs struct {
	cfg RunsConfig

	mu     sync.Mutex // guards the fields below
	now    Seen       // the present run; ID "": not known
	known  []string   // ids, the newest last
	passed string     // the id of a run that was trusted, and not at once: it is from then on
	back   bool       // the quarantine lasts because the clock of the database was put back
	until  time.Time  // the quarantine lasts; zero: there is none
	farest int64      // the database has come, in this run
	doubt  bool       // the run may be over although the server names it: another has to take its place

	deciding chan struct{} // has an element while somebody decides
}

// RunsConfig is for NewRuns.
type RunsConfig struct {
	Product string        // for people, such as PostgreSQL
	Setting string        // that says what is done, such as backend.postgres.guard
	Guarded bool          // false: every run is trusted
	Lease   time.Duration // the longest that may have been forgotten
	File    string        // keeps the ids; "": nowhere
	Log     *slog.Logger
	Moved   func() // is called when another server is trusted than before
}

// Seen is what a database tells of its run.
type Seen struct {
	ID     string        // "": it names none
	Server string        // that has told
	Same   bool          // the run is the present one of that server
	Fresh  bool          // it was trusted at once
	Used   bool          // gateways have used the database
	Left   time.Duration // until it is trusted; not above 0: it is
	Far    int64         // the database has come; less than before means that it was put back
}

// Change is what is to be done about a run that was seen.
type Change struct {
	Kind  int
	Wait  time.Duration // until it is trusted, at the earliest
	Fresh bool          // it is trusted at once, for nobody was here before
}

// Kinds of Change.
const (
	Keep  = iota // it stays
	Anew         // another one takes its place
	Doubt        // it stays, and is no fresh one
)

const (
	// rememberRuns is how many ids are kept.
	rememberRuns = 64
	// Tries bounds how often the run may change while a grant is asked for.
	Tries = 3
)

// NewRuns reads what was known before.
func NewRuns(cfg RunsConfig) *Runs {
	r := &Runs{cfg: cfg, deciding: make(chan struct{}, 1)}
	if cfg.Guarded && cfg.File != "" {
		r.remember()
	}
	return r
}

// Run of a server.
type Run struct{ ID, Server string }

// Present is the present run; ID "": it is not known.
func (r *Runs) Present() Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Run{r.now.ID, r.now.Server}
}

// Far is how far the database has come at least; 0: nobody asks, or it is not known.
func (r *Runs) Far() int64 {
	if !r.cfg.Guarded {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.farest
}

// Reached notes that the database has come as far as that.
func (r *Runs) Reached(far int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.farest = max(r.farest, far)
}

// Doubtful has the present run replaced, before the next grant: the server has started anew and
// names the same one.
func (r *Runs) Doubtful() {
	if !r.cfg.Guarded {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.ID, r.doubt = "none", true
}

// Strange is the error of a grant before which the run changed again and again.
func (r *Runs) Strange() error {
	return fmt.Errorf("%w: %s was restarted or failed over meanwhile; ask again", backend.ErrRefused, r.cfg.Product)
}

// Refusing says why nothing new is granted; "": it is, as far as is known.
func (r *Runs) Refusing() string {
	if err := r.later(); err != nil {
		return selftest.Reason(err)
	}
	return ""
}

// later is why nothing new is granted, a *backend.Later; nil: it is.
func (r *Runs) later() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := time.Until(r.until)
	if r.until.IsZero() || left <= 0 {
		return nil
	}
	why := r.cfg.Product + " was restarted, failed over or restored, or its clock was put back, and may have forgotten who holds what"
	if r.back {
		why = "the clock of " + r.cfg.Product + ", by which leases end, was put back (have NTP slew it)"
	}
	return &backend.Later{After: left, Err: fmt.Errorf("%w: %s; new locks from %s, what is held goes on (%s)",
		backend.ErrRefused, why, r.until.UTC().Format(time.RFC3339), r.cfg.Setting)}
}

// Decide finds out whether the run is trusted. nil: it is. A *backend.Later: not yet. ask looks
// at the database, has judge say what is to be done, and does it.
func (r *Runs) Decide(ctx context.Context, ask func(ctx context.Context, judge func(Seen) Change) error) error {
	if !r.cfg.Guarded {
		return nil
	}
	select {
	case r.deciding <- struct{}{}:
		defer func() { <-r.deciding }()
	case <-ctx.Done():
		return r.unasked(ctx.Err())
	}
	for range Tries {
		r.mu.Lock()
		least := r.farest // what is noted from here on, the database need not have told
		r.mu.Unlock()
		var s Seen
		var c Change
		err := ask(ctx, func(is Seen) Change {
			s, c = is, r.judge(is, least)
			return c
		})
		if err != nil {
			return r.unasked(err)
		}
		if c.Kind == Keep && r.learn(s) {
			return r.later()
		}
	}
	return r.Strange()
}

// unasked: whatever became of the question, nothing was granted.
func (r *Runs) unasked(err error) error { return Unsent(r.cfg.Product+" does not say who it is", err) }

// judge says what is to be done about s. least is how far the database had come.
func (r *Runs) judge(s Seen, least int64) Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, past := slices.Contains(r.known, s.ID), len(r.known) > 0
	switch {
	case s.Same && known && r.doubt:
		r.warn("it was restarted", s.ID)
	case s.Same && known && s.ID != r.known[len(r.known)-1]:
		r.warn("another server has been in its place, and may have granted what it has not heard of", s.ID)
	case s.Same && s.Left > r.cfg.Lease && r.trustedBefore(s):
		r.warn("its clock was put back", s.ID)
		r.back = true
	case s.Same && known && s.Far >= least:
		r.back = r.back || s.Left > 0 && r.trustedBefore(s)
		return Change{}
	case s.Same && known:
		r.warn("it knows less than it did: it was put back to an earlier state", s.ID)
	case s.Same && s.Fresh && past && s.Left <= 0:
		r.warn("it is empty", s.ID)
		return Change{Kind: Doubt, Wait: r.cfg.Lease}
	case s.Same: // another gateway has decided
		return Change{}
	case !s.Used && !past:
		return Change{Kind: Anew, Fresh: true}
	case !s.Used:
		r.warn("it is empty", s.ID)
	default:
		r.warn("it was restarted, has taken over from another server, or was restored", s.ID)
	}
	return Change{Kind: Anew, Wait: r.cfg.Lease}
}

// trustedBefore: by the clock of the database the run that was seen is yet to be trusted, although it
// was before, and nobody has doubted it since. For as long as that clock was put back, nothing would be
// granted. A gateway that has never seen the run trusted waits for that: it may be in the quarantine of
// a gateway whose leases last longer.
func (r *Runs) trustedBefore(s Seen) bool { return s.Fresh || r.passed == s.ID }

func (r *Runs) warn(why, id string) {
	r.back = false
	r.cfg.Log.Warn(r.cfg.Product+" may have forgotten locks; it grants no new ones for a while", "why", why, "for", r.cfg.Lease, "run", id)
}

// learn notes that the present run is the one seen. false: that has become doubtful meanwhile.
func (r *Runs) learn(s Seen) bool {
	r.mu.Lock()
	anew := !slices.Contains(r.known, s.ID)
	if r.doubt && !anew {
		r.mu.Unlock()
		return false
	}
	r.doubt = false
	was := r.until
	r.until = time.Time{}
	if s.Left > 0 {
		r.until = time.Now().Add(s.Left)
	} else {
		r.back = false
	}
	passed := s.Left <= 0 && !s.Fresh && r.passed != s.ID
	if passed {
		r.passed = s.ID
	}
	if !was.IsZero() && r.until.IsZero() {
		r.cfg.Log.Info("the quarantine of "+r.cfg.Product+" is over; it grants locks", "run", s.ID)
	}
	moved := r.now.Server != "" && r.now.Server != s.Server
	if s.ID != r.now.ID {
		r.farest = 0 // it may be another database
	}
	r.now, r.farest = s, max(r.farest, s.Far)
	if anew {
		r.known = append(r.known, s.ID)
		r.known = r.known[max(0, len(r.known)-rememberRuns):]
	}
	text := r.textLocked()
	r.mu.Unlock()
	if moved {
		r.cfg.Moved()
	}
	if anew || passed {
		r.save(text)
	}
	return true
}
