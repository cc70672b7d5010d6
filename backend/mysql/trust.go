package mysql

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
// The table lockgw_state names one run, with an id: which server, and when it was started, in
// seconds, of which UUID_SHORT() tells. A grant looks whether the row has that id, in the same
// step, and goes over a connection that was made to that run: it cannot outlive it.
//
//   - A server that was restarted names another time. So an orderly restart counts, too: a copy
//     from an earlier day may have been put in the place of what was there.
//     Twice in the same second counts as once; a server is served only if it forgets nothing
//     that it has committed (see serves.go).
//   - A server that has taken over from another one has another identity.
//   - The gateway remembers the id. So an empty database, or one from a dump, is no new one.
//   - The gateway counts in the database how often it was there. So a machine that was put back
//     to an earlier state while it ran is seen, when it is connected to again.
//
// Where the row is of another run, a gateway makes it one of this run, which counts when every
// lease that may have been forgotten is over; or at once, if no gateway has ever used the
// database.
type trust struct {
	t *Table

	mu     sync.Mutex // guards the fields below
	id     string     // of the present run; "": not known
	server string     // its identity
	known  []string   // ids, the newest last
	until  time.Time  // the quarantine lasts; zero: there is none
	beats  int64      // how often the node was there
	farest int64      // of these the database has said that it has them

	deciding sync.Mutex // taken before mu
}

// rememberRuns is how many ids are kept.
const rememberRuns = 64

// triesOfGrant bounds how often the server may change while a grant is asked for.
const triesOfGrant = 3

var errStrange = fmt.Errorf("%w: MySQL was restarted or failed over meanwhile; ask again", backend.ErrRefused)

func newTrust(t *Table) *trust {
	r := &trust{t: t}
	if t.cfg.Guard == GuardQuarantine && t.cfg.GuardFile != "" {
		text, _ := os.ReadFile(t.cfg.GuardFile) // without, this node begins anew
		r.known = strings.Fields(string(text))
	}
	return r
}

// needed is the run that s needs.
func (r *trust) needed(s ledger.Swap) trusted {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !s.Effects.Grants {
		return trusted{}
	}
	return trusted{run: r.id, server: r.server}
}

func (r *trust) run() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.id
}

// beat is the number of the next sign of life, and beaten that the database has it.
func (r *trust) beat() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.beats++
	return r.beats
}

func (r *trust) beaten(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.farest = max(r.farest, n)
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
	return &backend.Later{After: left, Err: fmt.Errorf("%w: MySQL was restarted, failed over or restored, and may have forgotten who holds what; new locks from %s (%v), what is held goes on (backend.mysql.guard)",
		backend.ErrRefused, r.until.UTC().Format(time.RFC3339), max(time.Second, left.Round(time.Second)))}
}

// seen is what the database tells of its run.
type seen struct {
	id       string // "": none was ever trusted
	of       string // the server of that run
	identity string // of the server that has told
	fresh    bool   // it was trusted at once
	left     time.Duration
	beats    int64
}

func (s *seen) same() bool { return s.id != "" && s.of == s.identity }

// decide finds out whether the server is trusted. nil: it is. A *backend.Later: not yet.
func (r *trust) decide(ctx context.Context) error {
	if r.t.cfg.Guard != GuardQuarantine {
		return nil
	}
	r.deciding.Lock()
	defer r.deciding.Unlock()
	for range triesOfGrant {
		r.mu.Lock()
		least := r.farest
		r.mu.Unlock()
		changed := false
		err := r.t.requests.with(ctx, func(c *conn) error {
			s, err := r.look(ctx, c)
			if err != nil {
				return err
			}
			sql, args := r.judge(s, least)
			if changed = sql != ""; changed {
				_, _, err = c.exec(ctx, sql, args...)
				return err
			}
			r.learn(s)
			return nil
		})
		switch {
		case err != nil:
			return unasked(r.t.noticed(err))
		case !changed:
			return r.later()
		}
	}
	return errStrange
}

func (r *trust) look(ctx context.Context, c *conn) (s seen, err error) {
	got, err := c.query(ctx, trustSQL, []byte(r.t.cfg.Node.ID))
	switch {
	case err != nil:
		return s, err
	case len(got[0]) != 1:
		return s, fmt.Errorf("%w: the table lockgw_state has %d rows, and not one", backend.ErrRefused, len(got[0]))
	}
	p := reader{row: got[0][0]}
	s = seen{id: p.text(), of: p.text(), identity: c.server.identity, fresh: p.is(), left: duration(p.number()), beats: p.number()}
	return s, p.err
}

// judge says which statement changes the row; "": it can stay. least is how often the node was
// there at least.
func (r *trust) judge(s seen, least int64) (sql string, args []any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, past := slices.Contains(r.known, s.id), len(r.known) > 0
	anew := func(period time.Duration, fresh bool) (string, []any) {
		return trustAnewSQL, []any{[]byte(rand.Text()), []byte(s.identity), period.Microseconds(), fresh, []byte(s.id), []byte(s.of)}
	}
	switch {
	case s.same() && known && s.beats >= least:
		return "", nil
	case s.same() && known:
		r.farest = 0
		r.warn("it knows less of this gateway than it did: it was put back to an earlier state", s.id)
	case s.same() && s.fresh && past && s.left <= 0:
		r.warn("it is empty", s.id)
		return suspectSQL, []any{r.t.cfg.Lease.Microseconds(), []byte(s.id)}
	case s.same(): // another gateway has decided
		return "", nil
	case s.id == "" && !past:
		return anew(0, true)
	case s.id == "":
		r.warn("it is empty", s.id)
	default:
		r.warn("it was restarted, has taken over from another server, or was restored", s.id)
	}
	return anew(r.t.cfg.Lease, false)
}

func (r *trust) warn(why, id string) {
	r.t.cfg.Log.Warn("MySQL may have forgotten locks; it grants no new ones for a while", "why", why, "for", r.t.cfg.Lease, "run", id)
}

// learn notes that the present run is the one seen.
func (r *trust) learn(s seen) {
	r.mu.Lock()
	was := r.until
	r.until = time.Time{}
	if s.left > 0 {
		r.until = time.Now().Add(s.left)
	}
	if !was.IsZero() && r.until.IsZero() {
		r.t.cfg.Log.Info("the quarantine of MySQL is over; it grants locks", "run", s.id)
	}
	moved := r.server != "" && r.server != s.identity
	r.id, r.server, r.beats = s.id, s.identity, max(r.beats, s.beats)
	anew := !slices.Contains(r.known, s.id)
	if anew {
		r.farest = 0 // it may be another database
		r.known = append(r.known, s.id)
		r.known = r.known[max(0, len(r.known)-rememberRuns):]
	}
	text := strings.Join(r.known, "\n") + "\n"
	r.mu.Unlock()
	if moved { // what leads to the one of before is of no use
		r.t.requests.reset()
		r.t.renewals.reset()
	}
	if file := r.t.cfg.GuardFile; anew && file != "" {
		if err := save(file, text); err != nil {
			r.t.cfg.Log.Warn("after its next start this gateway may trust a MySQL too early", "err", err)
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
	return fmt.Errorf("%w: MySQL does not say who it is: %s", backend.ErrRefused, err.Error())
}

func quarantined(err error) bool {
	var later *backend.Later
	return errors.As(err, &later)
}

// reason is err without the words that say that it is a refusal.
func reason(err error) string {
	return strings.TrimPrefix(err.Error(), backend.ErrRefused.Error()+": ")
}
