package mysql

import (
	"context"
	"errors"
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

// Renew implements ledger.Table. Where some leases have no answer, their errors say so and
// those of the others count.
func (t *Table) Renew(ctx context.Context, rs []ledger.Renewal) ([]error, error) {
	if len(rs) == 0 {
		return nil, nil
	}
	if err := t.prepare(ctx); err != nil {
		return nil, err
	}
	errs := make([]error, len(rs))
	groups := renewTogetherOf(rs)
	var wg sync.WaitGroup
	for _, group := range groups {
		wg.Go(func() {
			if err := t.prolong(ctx, rs, group, errs); err != nil {
				for _, i := range group {
					errs[i] = t.noticed(err)
				}
			}
		})
	}
	wg.Wait()
	if len(groups) == 1 && errs[0] != nil && !errors.Is(errs[0], backend.ErrNotHeld) && len(slices.Compact(slices.Clone(errs))) == 1 {
		return nil, errs[0]
	}
	return errs, nil
}

// renewTogetherOf are the indexes of rs in groups, each name at most once in a group, in the
// order of the names, lest two gateways that share several of them wait for each other.
func renewTogetherOf(rs []ledger.Renewal) (groups [][]int) {
	seen := map[string]int{}
	filling := map[int]int{} // by how often the name has come before
	for i, r := range rs {
		n := seen[r.Name]
		seen[r.Name]++
		g, ok := filling[n]
		if !ok || len(groups[g]) == renewTogether {
			g = len(groups)
			groups, filling[n] = append(groups, nil), g
		}
		groups[g] = append(groups[g], i)
	}
	for _, g := range groups {
		slices.SortFunc(g, func(a, b int) int { return strings.Compare(rs[a].Name, rs[b].Name) })
	}
	return groups
}

// renewSQL stands around the rows of name, tag and lease. The rows of names are found one after
// the other, in their order.
var renewSQL = [2]string{
	"UPDATE (", of(fmt.Sprintf(`) AS w STRAIGHT_JOIN lockgw_names AS n ON n.name = w.name
SET n.ends = INSERT(n.ends, LOCATE(w.tag, n.ends) + %d, %d, LPAD(GREATEST(CAST(SUBSTRING(n.ends, LOCATE(w.tag, n.ends) + %d, %d) AS SIGNED), {clock} + w.ttl), %d, '0'))
WHERE LOCATE(w.tag, n.ends) > 0 AND {guard};
SELECT n.name, n.ends, {clock}, {guard} FROM lockgw_names AS n WHERE n.name IN `, toEnd, digits, toEnd, digits, digits)),
}

// prolong renews those of rs that group names. Whether a lease was renewed is seen by its end:
// what another write has ended in between is not held.
func (t *Table) prolong(ctx context.Context, rs []ledger.Renewal, group []int, errs []error) error {
	var s statement
	s.add(renewSQL[0])
	at := map[string]int{}
	var names []any
	for k, i := range group {
		name := t.cfg.KeyPrefix + rs[i].Name
		at[name] = i
		names = append(names, []byte(name))
		errs[i] = backend.ErrNotHeld
		columns := "SELECT ? AS name, ? AS tag, ? AS ttl"
		if k > 0 {
			columns = " UNION ALL SELECT ?, ?, ?"
		}
		s.add(columns, []byte(name), []byte(firmTag(rs[i].ID)), rs[i].TTL.Microseconds())
	}
	s.add(renewSQL[1]+marks(len(names)), names...)
	var got []rows
	began := time.Now()
	var err error
	for try := 1; ; try++ {
		got, err = t.renewals.query(ctx, s.sql.String(), s.args...)
		if !raced(err) || try == racesMost {
			break
		}
	}
	if err != nil {
		return err
	}
	for _, row := range got[0] {
		r := reader{row: row}
		i := at[r.text()]
		ends, now, same := r.text(), r.number(), r.is()
		end, there := endOf(ends, firmTag(rs[i].ID))
		switch {
		case r.err != nil:
			errs[i] = r.err
		case !same:
			errs[i] = fmt.Errorf("%w: %s", backend.ErrUnavailable, anotherServerWords)
		case there && end < now+(rs[i].TTL-time.Since(began)).Microseconds():
			errs[i] = fmt.Errorf("%w: the lease was not renewed", backend.ErrUnavailable)
		case there:
			errs[i] = nil
		}
	}
	return nil
}
