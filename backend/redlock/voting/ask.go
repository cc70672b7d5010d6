package voting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

const (
	// patience is how long a request to one server may go on after the others have decided.
	patience = 3 * time.Second
	// grace is how long the last servers are waited for, if a majority has answered and
	// that is not enough.
	grace = 20 * time.Millisecond
)

// result is what became of a request to one server.
type result struct {
	server  int
	row     *row // nil: not known
	unheard []string
	err     error
}

// ask has f do something on each server. It may still go on when nobody waits any more.
func (t *Table) ask(ctx context.Context, name string, f func(ctx context.Context, a *acceptor) ([]string, error)) <-chan result {
	results := make(chan result, len(t.tables))
	for i := range t.tables {
		t.wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
			defer cancel()
			a := t.acceptor(i, name)
			unheard, err := f(ctx, a)
			t.remember(name, i, a.row)
			results <- result{i, a.row, unheard, err}
		})
	}
	return results
}

// each asks the servers something that is about no name.
func (t *Table) each(ctx context.Context, f func(context.Context, ledger.Table) error) <-chan error {
	errs := make(chan error, len(t.tables))
	for i, s := range t.tables {
		t.wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
			defer cancel()
			err := f(ctx, s)
			if err != nil {
				err = fmt.Errorf("server %d: %w", i+1, err)
			}
			errs <- err
		})
	}
	return errs
}

// answers of servers.
type answers struct {
	rows    []*row
	results []result // of those that did what they were asked
	errs    []error
}

// wait takes results until enough, until all are there, until the last ones have had their
// time, or until a majority cannot come about any more. Where a majority would answer another
// round, the last ones are not waited for longer.
func (t *Table) wait(ctx context.Context, results <-chan result, enough func(*answers) bool) *answers {
	a := &answers{}
	var late <-chan time.Time
	for len(a.results)+len(a.errs) < len(t.tables) {
		select {
		case r := <-results:
			if r.err != nil {
				a.errs = append(a.errs, fmt.Errorf("server %d: %w", r.server+1, r.err))
			} else {
				a.results = append(a.results, r)
				a.rows = append(a.rows, r.row)
			}
		case <-late:
			return a
		case <-ctx.Done():
			a.errs = append(a.errs, fmt.Errorf("%w: no answer in time: %w", backend.ErrUnavailable, ctx.Err()))
			return a
		}
		if len(a.rows) >= t.quorum && enough(a) {
			return a
		}
		if late == nil && len(a.rows)+overtaken(a.errs) >= t.quorum {
			late = time.After(grace)
		}
		if len(t.tables)-len(a.errs) < t.quorum {
			return a
		}
	}
	return a
}

// overtaken is at how many servers somebody else was faster: they would answer another round.
func overtaken(errs []error) (n int) {
	for _, err := range errs {
		if errors.As(err, new(*nack)) || errors.Is(err, errBusy) {
			n++
		}
	}
	return n
}

// several errors are told in one line, as they stand in a log and in a terminal.
type several []error

func (s several) Error() string { return strings.ReplaceAll(errors.Join(s...).Error(), "\n", "; ") }

func (s several) Unwrap() []error { return s }

// trouble is why no majority has come about. unknown: a write may have been carried out.
func (t *Table) trouble(name string, errs []error, unknown bool) error {
	text := fmt.Sprintf("%d of %d servers have to agree about %s, and do not: %v", t.quorum, len(t.tables), name, several(errs))
	if unknown {
		return fmt.Errorf("%w: %s", backend.ErrUnavailable, text)
	}
	silent := 0
	for _, e := range errs {
		if errors.Is(e, backend.ErrUnavailable) || errors.Is(e, backend.ErrUnreachable) {
			silent++
		}
	}
	why := backend.ErrRefused
	if silent > 0 && len(t.tables)-(len(errs)-silent) >= t.quorum { // those that answer are not the reason
		why = backend.ErrUnreachable
	}
	return t.later(fmt.Errorf("%w: %s", why, text), errs)
}

// later is err with when enough servers will serve, if that is what errs are about.
func (t *Table) later(err error, errs []error) error {
	var waits []time.Duration
	for _, e := range errs {
		if later, ok := errors.AsType[*backend.Later](e); ok {
			waits = append(waits, later.After)
		}
	}
	if missing := t.quorum - (len(t.tables) - len(waits)); missing > 0 { // of those that will serve later
		slices.Sort(waits)
		return &backend.Later{Err: err, After: waits[missing-1]}
	}
	return err
}
