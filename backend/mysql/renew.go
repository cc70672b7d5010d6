package mysql

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/sqltable"
)

var (
	// renewSQL: lease, name; the tag stands for %[1]s. Of one row at a time: the statement that changes several, by
	// a table of their names, has to write the new ends elsewhere first, for which the server
	// may have no room.
	renewSQL = of(fmt.Sprintf("UPDATE lockgw_names SET ends = INSERT(ends, LOCATE('%%[1]s', ends) + %[1]d, %[2]d, "+
		"LPAD(GREATEST(CAST(SUBSTRING(ends, LOCATE('%%[1]s', ends) + %[1]d, %[2]d) AS SIGNED), {clock} + ?), %[2]d, '0')) "+
		"WHERE name = ? AND LOCATE('%%[1]s', ends) > 0 AND "+writes, toEnd, digits))
	// freeSQL is followed by names: of those rows it tells which nobody has locked.
	freeSQL = "SELECT name FROM lockgw_names WHERE name IN "
	// renewedSQL is followed by names.
	renewedSQL = of("SELECT n.name, n.ends, {clock}, " + leads + " FROM lockgw_names AS n WHERE n.name IN ")
)

// renewal is the request that renews those of rs that group names, in its order.
func (t *Table) renewal(rs []ledger.Renewal, group []int) (s statement, at map[string]int) {
	at = map[string]int{}
	names := make([]any, len(group))
	if len(group) > 1 {
		s.add(begin)
	}
	for k, i := range group {
		raw := t.Raw(rs[i].Name)
		at[raw], names[k] = i, []byte(raw)
		s.add(fmt.Sprintf(renewSQL, firmTag(rs[i].ID))+";\n", rs[i].TTL.Microseconds(), names[k])
	}
	if len(group) > 1 {
		s.add("COMMIT;\n")
	}
	s.add(renewedSQL+marks(len(names)), names...)
	return s, at
}

// prolong renews those of rs that group names. A row that somebody has locked keeps none of the others
// from it: several are renewed without those, which follow.
func (t *Table) prolong(ctx context.Context, rs []ledger.Renewal, group []int, errs []error) error {
	if len(group) == 1 {
		return t.renew(ctx, rs, group, errs)
	}
	names := make([]any, len(group))
	for k, i := range group {
		names[k] = []byte(t.Raw(rs[i].Name))
	}
	got, err := t.renewing(ctx, freeSQL+marks(len(names))+" FOR UPDATE SKIP LOCKED", names)
	if err != nil {
		return err
	}
	free := map[string]bool{}
	for _, row := range got[0] {
		free[string(row[0])] = true
	}
	locked := func(i int) bool { return !free[t.Raw(rs[i].Name)] }
	if now := slices.DeleteFunc(slices.Clone(group), locked); len(now) > 0 {
		if err := t.renew(ctx, rs, now, errs); err != nil {
			return err
		}
	}
	left := slices.DeleteFunc(slices.Clone(group), func(i int) bool { return !locked(i) })
	if len(left) > 0 {
		if err := t.renew(ctx, rs, left, errs); err != nil {
			for _, i := range left {
				errs[i] = err
			}
		}
	}
	return nil
}

// renewing sends a request on the way of renewals.
func (t *Table) renewing(ctx context.Context, sql string, args []any) (got []sqltable.Rows, err error) {
	err = again(ctx, func() (err error) {
		got, err = t.renewals.query(ctx, sql, args...)
		if sqltable.Unmade(err, full) { // those for requests may have been made before
			got, err = t.requests.query(ctx, sql, args...)
		}
		return err
	})
	return got, t.noticed(err)
}

// renew renews those of rs that group names by one request. Whether a lease was renewed is seen by its
// end: what another write has ended in between is not held.
func (t *Table) renew(ctx context.Context, rs []ledger.Renewal, group []int, errs []error) error {
	s, at := t.renewal(rs, group)
	began := time.Now()
	got, err := t.renewing(ctx, s.sql.String(), s.args)
	if err != nil {
		return err
	}
	for _, row := range got[0] {
		r := sqltable.NewReader(row)
		i := at[r.Text()]
		ends, now, same := r.Text(), r.Number(), readLeads(r)
		end, there := endOf(ends, firmTag(rs[i].ID))
		switch {
		case r.Err != nil:
			errs[i] = t.noticed(r.Err)
		case !same:
			errs[i] = t.elsewhere(backend.ErrUnavailable)
		case there && end < now+(rs[i].TTL-time.Since(began)).Microseconds():
			errs[i] = fmt.Errorf("%w: the lease was not renewed", backend.ErrUnavailable)
		case there:
			errs[i] = nil
		}
	}
	return nil
}
