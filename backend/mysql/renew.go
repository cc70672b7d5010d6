package mysql

import (
	"context"
	"fmt"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// Renew implements ledger.Table. Where some leases have no answer, their errors say so and
// those of the others count.
func (t *Table) Renew(ctx context.Context, rs []ledger.Renewal) ([]error, error) {
	if len(rs) == 0 {
		return nil, nil
	}
	if err := t.prepare(ctx); err != nil {
		return nil, err
	}
	return sqltable.Renew(rs, func(group []int, errs []error) error { return t.noticed(t.prolong(ctx, rs, group, errs)) })
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
