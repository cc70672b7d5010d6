package voting_test

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/backend/redlock/voting"
	"github.com/lockgw/lockgw/backend/tabletest"
)

// servers are stores in the process that know nothing of each other.
type servers []*memory.Rows

func start(n int) (all servers) {
	for range n {
		all = append(all, memory.NewRows())
	}
	return all
}

// open is what a node makes of them, through wrap.
func (all servers) open(node string, wrap func(i int, t ledger.Table) ledger.Table) *voting.Table {
	var tables []ledger.Table
	for i, s := range all {
		tables = append(tables, wrap(i, memory.OpenTable(s, node)))
	}
	return voting.New(tables)
}

func plain(_ int, t ledger.Table) ledger.Table { return t }

func TestTable(t *testing.T) {
	for name, wrap := range map[string]func(int, ledger.Table) ledger.Table{
		"all well": plain,
		"one server is not there": func(i int, t ledger.Table) ledger.Table {
			if i == 1 {
				return &tabletest.Faulty{Table: t, Refused: 1}
			}
			return t
		},
		"one server loses most": func(i int, t ledger.Table) ledger.Table {
			if i == 0 {
				return &tabletest.Faulty{Table: t, Lost: 3, Unanswered: 3, Late: 3, Delay: 100 * time.Millisecond}
			}
			return t
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := start(3)
			tabletest.Run(t, func(t *testing.T, node string) ledger.Table { return all.open(node, wrap) })
		})
	}
}
