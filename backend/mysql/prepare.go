package mysql

import "context"

// create makes the tables. Each statement does nothing if it was done.
func (t *Table) create(ctx context.Context) error {
	for _, sql := range ddl {
		if err := again(func() error { return t.requests.do(ctx, sql) }); err != nil {
			return err
		}
	}
	return nil
}

// layout is that of the row of the last table that is made.
func (t *Table) layout(ctx context.Context) (int64, error) {
	got, err := t.requests.query(ctx, layoutSQL)
	switch {
	case is(err, 1146):
		return 0, nil
	case err != nil || len(got[0]) == 0:
		return 0, t.noticed(err)
	}
	r := reader(got[0][0])
	return r.Number(), r.Err
}
