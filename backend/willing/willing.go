// Package willing finds out whether a store that answers grants locks, too. One whose disk,
// memory or quota is used up, or whose replicas are away, reads well and refuses to write; one
// of which somebody has locked the table lets writes wait. Who only asks it how it is would hear
// that all is well while no new lock can be had.
package willing

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/selftest"
)

const (
	// tries is how many names are tried: a cluster may have room on one server and not on
	// another, and a database in a page that it has, and not for one more.
	tries = 16
	// about is how many bytes each has beside the record: all of them together fill more than
	// a page of a database, and none of them is so large that it is kept elsewhere.
	about = 1400
	// again is for how long the answer counts.
	again = time.Second
	// lately is for how long a grant says that others are granted, too. A thousand gateways that nobody
	// asks for a lock take some 30 in a second then.
	lately = 30 * time.Second
)

// table is a Table whose store is tried once it has refused a new lock, or has not answered, and where
// it was asked for none lately.
type table struct {
	ledger.Table
	log *slog.Logger
	// doubtful: a request was refused, or had no answer, and it was not seen since that all new
	// locks are granted. Why does not count: that may be the fault of one name.
	doubtful atomic.Bool
	granted  atomic.Pointer[time.Time] // when it has granted a new lock the last time; nil: never

	mu   sync.Mutex // guards the fields below, and lets one try at a time
	last time.Time  // when it was tried
	said error      // and what came of it
}

// New passes everything on to t. Once t has refused a request, or has not answered it, Ping has it
// grant some locks that nobody else uses and take them back, and says why it does not, if it does not:
// backend.ErrPartly where some are granted. Where t has granted none lately, Ping has it grant one
// before it believes that it would: a gateway without callers is refused nothing.
func New(t ledger.Table, log *slog.Logger) ledger.Table { return &table{Table: t, log: log} }

// Swap implements ledger.Table.
func (t *table) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	began := time.Now()
	r, err := t.Table.Swap(ctx, s)
	t.notice(ctx, err, began)
	if s.Effects.Grants {
		t.note(r.Written)
	}
	return r, err
}

// Join implements ledger.Table.
func (t *table) Join(ctx context.Context, name string, e ledger.Entry, floor backend.Fence) (ledger.Reply, error) {
	began := time.Now()
	r, err := t.Table.Join(ctx, name, e, floor)
	t.notice(ctx, err, began)
	return r, err
}

// Look implements ledger.Table.
func (t *table) Look(ctx context.Context, name string) (ledger.Reply, error) {
	began := time.Now()
	r, err := t.Table.Look(ctx, name)
	t.notice(ctx, err, began)
	return r, err
}

// Renew implements ledger.Table.
func (t *table) Renew(ctx context.Context, rs []ledger.Renewal) ([]error, error) {
	began := time.Now()
	errs, err := t.Table.Renew(ctx, rs)
	t.notice(ctx, err, began)
	return errs, err
}

// notice is told what became of a request that began then. Ping may have an answer where that one
// had none, as it asks for less.
func (t *table) notice(ctx context.Context, err error, began time.Time) {
	if (errors.Is(err, backend.ErrRefused) || errors.Is(err, backend.ErrUnavailable)) && !backend.GaveUp(ctx, began) {
		t.doubtful.Store(true)
	}
}

// note is told whether a new lock was granted.
func (t *table) note(granted bool) {
	if granted {
		now := time.Now()
		t.granted.Store(&now)
	}
}

// grants: nothing is known against it, and it has granted a new lock lately.
func (t *table) grants() bool {
	at := t.granted.Load()
	return !t.doubtful.Load() && at != nil && time.Since(*at) < lately
}

// Ping implements ledger.Table.
func (t *table) Ping(ctx context.Context) error {
	if err := t.Table.Ping(ctx); err != nil || t.grants() {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.grants() { // another one who asks has found out
		return nil
	}
	if time.Since(t.last) < again {
		return t.said
	}
	was := t.said
	t.said = t.try(ctx, t.doubtful.Swap(false)) // what is refused from now on counts again
	t.last = time.Now()
	t.note(t.said == nil)
	switch {
	case t.said != nil:
		t.doubtful.Store(true)
		if was == nil {
			t.log.Warn("the store answers, and grants no new locks", "err", t.said)
		}
	case was != nil:
		t.log.Info("the store grants new locks again")
	}
	return t.said
}

// try has the store grant locks, all at once, as far as the time goes; one is enough if it is granted
// and the store is not doubtful. The error is nil if it refuses none, and takes them back.
func (t *table) try(ctx context.Context, doubtful bool) error {
	var granted []selftest.Lock
	var refused error
	n := 0
	var unheard error
	for unheard == nil && len(granted)+n < tries && (doubtful || len(granted) == 0 || n > 0) {
		l, err := selftest.Take(ctx, selftest.Store{Look: t.Table.Look, Swap: t.Table.Swap}, "lockgw:willing:"+rand.Text(), t.Node(), strings.Repeat(".", about))
		switch {
		case errors.Is(err, backend.ErrRefused):
			refused = err
			n++
		case err != nil:
			unheard = err
		default:
			granted = append(granted, l)
		}
	}
	kept := t.giveBack(ctx, granted)
	switch {
	case len(granted)+n == 0:
		return unheard
	case len(granted) > 0 && n > 0:
		return fmt.Errorf("%w: some new locks are refused: %w", backend.ErrPartly, refused)
	case refused == nil && kept != nil:
		return fmt.Errorf("what is granted can be neither given back nor passed on: %w", kept)
	}
	return refused
}

// giveBack gives back what was granted. The error is why the store refuses that; what it does not
// answer is free soon.
func (t *table) giveBack(ctx context.Context, granted []selftest.Lock) (refused error) {
	for _, l := range granted {
		err := l.GiveBack(ctx)
		if err != nil {
			t.log.Debug("a lock that was tried is not given back", "err", err)
		}
		if errors.Is(err, backend.ErrRefused) {
			refused = err
		}
	}
	return refused
}
