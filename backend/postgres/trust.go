package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// trust is what this gateway knows of the runs of its servers. A grant needs one that is
// trusted.
//
// The table run has one row, with an id. The statement that grants looks whether it is
// there, in the same step, whatever connection it came by:
//
//   - The table is unlogged. So it is empty when PostgreSQL has recovered from a crash, was a
//     standby before, or was restored from a copy that was taken while it ran.
//   - The row names when the server was started. So an orderly restart counts, too: a copy
//     from an earlier day may have been put in the place of what was there.
//   - The row names the table that it is in. So a dump that was read in is none.
//   - The gateway remembers the id. So an empty database is no new one.
//   - The gateway compares where the write-ahead log ends. So a machine that was put back to
//     an earlier state while it ran is seen when it is connected to again.
//
// The system identifier and the timeline change only together with one of these.
//
// Where there is no such row, a gateway makes one, which counts when every lease that may
// have been forgotten is over; or at once, if no gateway has ever used the database.
type trust struct {
	t *Table

	mu     sync.Mutex // guards the fields below
	id     string     // of the present run; "": not known
	known  []string   // ids, the newest last
	until  time.Time  // the quarantine lasts; zero: there is none
	farest int64      // the write-ahead log has reached

	deciding sync.Mutex // taken before mu
}

// rememberRuns is how many ids are kept.
const rememberRuns = 64

// triesOfGrant bounds how often the server may change while a grant is asked for.
const triesOfGrant = 3

var errStrange = fmt.Errorf("%w: PostgreSQL was restarted or failed over meanwhile; ask again", backend.ErrRefused)

func newTrust(t *Table) *trust {
	r := &trust{t: t}
	if t.cfg.Guard == GuardQuarantine && t.cfg.GuardFile != "" {
		text, _ := os.ReadFile(t.cfg.GuardFile) // without, this node begins anew
		r.known = strings.Fields(string(text))
	}
	return r
}

// needed is the id of the run that s needs; "": any.
func (r *trust) needed(s ledger.Swap) string {
	if !s.Effects.Grants {
		return ""
	}
	return r.run()
}

func (r *trust) run() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.id
}

// refusing says why nothing new is granted; "": it is, as far as is known.
func (r *trust) refusing() string {
	if err := r.later(); err != nil {
		return reason(err)
	}
	return ""
}

// later is why nothing new is granted, a *backend.Later; nil: it is.
func (r *trust) later() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := time.Until(r.until)
	if r.until.IsZero() || left <= 0 {
		return nil
	}
	return &backend.Later{After: left, Err: fmt.Errorf("%w: PostgreSQL was restarted, failed over or restored, and may have forgotten who holds what; new locks from %s (%v), what is held goes on (backend.postgres.guard)",
		backend.ErrRefused, r.until.UTC().Format(time.RFC3339), max(time.Second, left.Round(time.Second)))}
}

// seen is what the database tells of its run.
type seen struct {
	id          string // "": there is no row
	same, fresh bool   // it is of this run; it was trusted at once
	left        float64
	used        string
	log         int64
}

// decide finds out whether the server is trusted. nil: it is. A *backend.Later: not yet.
func (r *trust) decide(ctx context.Context) error {
	if r.t.cfg.Guard != GuardQuarantine {
		return nil
	}
	r.deciding.Lock()
	defer r.deciding.Unlock()
	for range triesOfGrant {
		s, err := r.look(ctx)
		if err != nil {
			return unasked(err)
		}
		change, args := r.judge(s)
		if change == "" {
			r.learn(s)
			return r.later()
		}
		if err := r.t.requests.do(ctx, change, args...); err != nil {
			return unasked(err)
		}
	}
	return errStrange
}

func (r *trust) look(ctx context.Context) (s seen, err error) {
	got, err := r.t.requests.send(ctx, newStatement(r.t.sql.trust))
	switch {
	case err != nil:
		return s, r.t.noticed(err)
	case len(got[0]) != 1:
		return s, fmt.Errorf("%w: the table state has %d rows, and not one", backend.ErrRefused, len(got[0]))
	}
	c := reader{row: got[0][0]}
	s = seen{id: c.text(), same: c.bool(), fresh: c.bool(), left: c.float(), used: c.text()}
	s.log, _ = c.number()
	return s, c.err
}

// judge says which statement changes the row; "": it can stay.
func (r *trust) judge(s seen) (sql string, args []any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	period := r.t.cfg.Lease.Seconds()
	known, past := slices.Contains(r.known, s.id), len(r.known) > 0
	switch {
	case s.same && known && s.log >= r.farest:
		return "", nil
	case s.same && known:
		r.warn("its write-ahead log is shorter than it was: it was put back to an earlier state", s.id)
		return r.t.sql.trustAnew, []any{rand.Text(), period, false, s.id}
	case s.same && s.fresh && past && s.left <= 0:
		r.warn("it is empty", s.id)
		return r.t.sql.suspect, []any{s.id, period}
	case s.same: // another gateway has decided
		return "", nil
	case s.used == "" && !past:
		return r.t.sql.trustAnew, []any{rand.Text(), 0.0, true, ""}
	case s.used == "":
		r.warn("it is empty", s.id)
	default:
		r.warn("it was restarted, has taken over from another server, or was restored", s.id)
	}
	return r.t.sql.trustAnew, []any{rand.Text(), period, false, ""}
}

func (r *trust) warn(why, id string) {
	r.t.cfg.Log.Warn("PostgreSQL may have forgotten locks; it grants no new ones for a while", "why", why, "for", r.t.cfg.Lease, "run", id)
}

// learn notes that the present run is the one seen.
func (r *trust) learn(s seen) {
	r.mu.Lock()
	was := r.until
	r.until = time.Time{}
	if s.left > 0 {
		r.until = time.Now().Add(time.Duration(s.left * float64(time.Second)))
	}
	if !was.IsZero() && r.until.IsZero() {
		r.t.cfg.Log.Info("the quarantine of PostgreSQL is over; it grants locks", "run", s.id)
	}
	if s.id != r.id {
		r.farest = 0
	}
	r.id, r.farest = s.id, max(r.farest, s.log)
	anew := !slices.Contains(r.known, s.id)
	if anew {
		r.known = append(r.known, s.id)
		r.known = r.known[max(0, len(r.known)-rememberRuns):]
	}
	text := strings.Join(r.known, "\n") + "\n"
	r.mu.Unlock()
	if file := r.t.cfg.GuardFile; anew && file != "" {
		if err := save(file, text); err != nil {
			r.t.cfg.Log.Warn("after its next start this gateway may trust a PostgreSQL too early", "err", err)
		}
	}
}

func save(file, text string) error {
	next := file + ".next"
	_ = os.Remove(next) // a link that somebody has put there would be followed
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(next, file)
}

// unasked: whatever became of the question, nothing was granted.
func unasked(err error) error {
	if errors.Is(err, backend.ErrRefused) {
		return err
	}
	return fmt.Errorf("%w: PostgreSQL does not say who it is: %s", backend.ErrRefused, err.Error())
}

func quarantined(err error) bool {
	var later *backend.Later
	return errors.As(err, &later)
}

// reason is err without the words that say that it is a refusal.
func reason(err error) string {
	return strings.TrimPrefix(err.Error(), backend.ErrRefused.Error()+": ")
}
