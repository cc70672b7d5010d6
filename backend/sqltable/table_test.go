package sqltable

import (
	"context"
	"errors"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// A row that cannot be read, such as one of a later lockgw, leaves the others in a list.
func TestListIsPartial(t *testing.T) {
	t.Parallel()
	const prefix = "p:"
	row := func(name string) [][]byte { return [][]byte{[]byte(prefix + name)} }
	table, err := New(Config{Node: backend.Node{ID: "a"}, KeyPrefix: prefix}, Database{
		MaxNode: 1,
		List: func(context.Context, string, string, int) (Rows, error) {
			return Rows{row("a"), row("later"), row("z")}, nil
		},
		Reply: func(raw string, _ *Reader) (ledger.Reply, error) {
			if raw == prefix+"later" {
				return NewReply(raw, 1, `{"v":2}`, 0)
			}
			return NewReply(raw, 1, `{"v":1}`, 0)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	table.prepared.Store(true)
	rows, next, err := table.List(t.Context(), "", "", 3)
	if !errors.Is(err, backend.ErrPartly) || next != prefix+"z" || len(rows) != 2 || rows[0].Name != "a" || rows[1].Name != "z" {
		t.Errorf("it lists %+v, %q, %v", rows, next, err)
	}
}
