package mysql

import (
	"context"
	"fmt"
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

// unlocked are those of group whose rows nobody has locked.
func (t *Table) unlocked(ctx context.Context, rs []ledger.Renewal, group []int) ([]int, error) {
	names, at := make([]any, len(group)), map[string]int{}
	for k, i := range group {
		raw := t.Raw(rs[i].Name)
		names[k], at[raw] = []byte(raw), i
	}
	got, err := t.renewing(ctx, freeSQL+marks(len(names))+" FOR UPDATE SKIP LOCKED", names)
	if err != nil {
		return nil, err
	}
	var free []int
	for _, row := range got[0] {
		free = append(free, at[string(row[0])])
	}
	return free, nil
}

// renewing sends a request on the way of renewals.
func (t *Table) renewing(ctx context.Context, sql string, args []any) (got []sqltable.Rows, err error) {
	err = again(ctx, func() (err error) {
		got, err = t.renewals.query(ctx, sql, args...)
		if sqltable.Unmade(err) { // those for requests may have been made before
			got, err = t.requests.query(ctx, sql, args...)
		}
		return err
	})
	return got, t.noticed(err)
}

// renew is that of sqltable.Database. Whether a lease was renewed is seen by its end: what another write
// has ended in between is not held.
func (t *Table) renew(ctx context.Context, rs []ledger.Renewal, group []int, free bool, errs []error) (err error) {
	if free {
		if group, err = t.unlocked(ctx, rs, group); err != nil || len(group) == 0 {
			return err
		}
	}
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
		case there:
			errs[i] = sqltable.Renewed(end-now, rs[i].TTL, began)
		}
	}
	return nil
}
