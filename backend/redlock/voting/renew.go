package voting

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Renew implements ledger.Table: a majority has to have the longer lease.
func (t *Table) Renew(ctx context.Context, rs []ledger.Renewal) ([]error, error) {
	counts, err := t.prolong(ctx, rs)
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(rs))
	var wg sync.WaitGroup
	for i, c := range counts {
		switch {
		case c.renewed >= t.quorum:
		case c.renewed == 0 && c.gone >= t.quorum:
			errs[i] = backend.ErrNotHeld
		case c.renewed > 0 && c.renewed+c.gone >= t.quorum:
			wg.Go(func() { errs[i] = t.mend(ctx, rs[i]) })
		default:
			errs[i] = t.notRenewed(rs[i].Name, c)
		}
	}
	wg.Wait()
	return errs, nil
}

func (t *Table) notRenewed(name string, c count) error {
	return fmt.Errorf("%w: of %d servers, %d have renewed the lease of %s, and %d do not have the hold", backend.ErrUnavailable, len(t.tables), c.renewed, name, c.gone)
}

// mend has servers that have missed a hold, or its renewals, learn of it, and renews it.
func (t *Table) mend(ctx context.Context, r ledger.Renewal) error {
	p := &proposal{t: t, name: r.Name, anew: true}
	there, err := p.run(ctx)
	if err != nil {
		return fmt.Errorf("%w: %s", backend.ErrUnavailable, err.Error())
	}
	if there.Record.Hold(r.ID) == nil {
		return backend.ErrNotHeld
	}
	counts, err := t.prolong(ctx, []ledger.Renewal{r})
	if err != nil {
		return err
	}
	if counts[0].renewed < t.quorum {
		return t.notRenewed(r.Name, counts[0])
	}
	return nil
}

// count is what servers have said of one renewal.
type count struct{ renewed, gone int }

// prolong renews on all servers, and counts what they say until that decides. The error
// is set if fewer than a majority say anything.
func (t *Table) prolong(ctx context.Context, rs []ledger.Renewal) ([]count, error) {
	said := make(chan []error, len(t.tables))
	ended := t.each(ctx, func(ctx context.Context, s ledger.Table) error {
		errs, err := s.Renew(ctx, rs)
		if err == nil {
			said <- errs
		}
		return err
	})
	counts := make([]count, len(rs))
	answered, failed := 0, []error(nil)
	var late <-chan time.Time
	for answered+len(failed) < len(t.tables) {
		select {
		case err := <-ended:
			if err != nil {
				failed = append(failed, err)
				continue
			}
		case <-late:
			return counts, nil
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", backend.ErrUnavailable, ctx.Err())
		}
		answered++
		all := true
		for i, err := range <-said {
			switch c := &counts[i]; {
			case err == nil:
				c.renewed++
			case errors.Is(err, backend.ErrNotHeld):
				c.gone++
			}
		}
		for _, c := range counts {
			all = all && c.renewed >= t.quorum
		}
		if all {
			return counts, nil
		}
		if answered >= t.quorum && late == nil {
			late = time.After(grace)
		}
	}
	if answered < t.quorum {
		return nil, t.trouble("the leases", failed, true)
	}
	return counts, nil
}
