package sqltable

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// renewTogether is how many leases one statement renews at most, so that it holds up nobody
// for long.
const renewTogether = 200

// Renew implements ledger.Table. It renews several at once. Where some leases have no answer,
// their errors say so and those of the others count.
func (t *Table) Renew(ctx context.Context, rs []ledger.Renewal) ([]error, error) {
	if len(rs) == 0 {
		return nil, nil
	}
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	errs := make([]error, len(rs))
	groups := groupsOf(rs)
	whole := make([]error, len(groups))
	var wg sync.WaitGroup
	for g, group := range groups {
		wg.Go(func() { whole[g] = t.renew(ctx, rs, group, errs) })
	}
	wg.Wait()
	if len(groups) == 1 && whole[0] != nil {
		return nil, whole[0]
	}
	return errs, nil
}

// renew renews a group; an error is that none of it was. A row that somebody has locked keeps none of the
// others from it: several are renewed without those, which follow.
func (t *Table) renew(ctx context.Context, rs []ledger.Renewal, group []int, errs []error) error {
	several := len(group) > 1
	err := t.renewThose(ctx, rs, group, several, errs)
	left := slices.DeleteFunc(slices.Clone(group), func(i int) bool { return errs[i] == nil })
	if err == nil && several && len(left) > 0 {
		_ = t.renewThose(ctx, rs, left, false, errs) // errs has it
	}
	return err
}

func (t *Table) renewThose(ctx context.Context, rs []ledger.Renewal, group []int, free bool, errs []error) error {
	for _, i := range group {
		errs[i] = backend.ErrNotHeld
	}
	err := t.db.Renew(ctx, rs, group, free, errs)
	if err != nil {
		for _, i := range group {
			errs[i] = err
		}
	}
	return err
}

// Renewed is nil if a lease of which the server has left microseconds now was renewed for ttl, which
// it was asked for at began. Else something has put the lease back.
func Renewed(left int64, ttl time.Duration, began time.Time) error {
	if Duration(left) < ttl-time.Since(began) {
		return fmt.Errorf("%w: the lease was not renewed", backend.ErrUnavailable)
	}
	return nil
}

// groupsOf are the indexes of rs in groups, each name at most once in a group, in the order of
// the names, lest two gateways that share several of them wait for each other.
func groupsOf(rs []ledger.Renewal) (groups [][]int) {
	seen := map[string]int{} // how often each name has come before
	groups = ledger.Groups(rs, renewTogether, func(r ledger.Renewal) int {
		seen[r.Name]++
		return seen[r.Name]
	})
	for _, g := range groups {
		slices.SortFunc(g, func(a, b int) int { return strings.Compare(rs[a].Name, rs[b].Name) })
	}
	return groups
}
