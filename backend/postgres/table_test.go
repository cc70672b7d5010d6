package postgres

import (
	"testing"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
	"github.com/lockgw/lockgw/backend/tabletest"
)

func TestTable(t *testing.T) {
	s := pgtest.Start(t, "max_connections=400")
	tabletest.Run(t, func(t *testing.T, node string) ledger.Table {
		return open(t, s.URL()+"&pool_max_conns=3", node)
	})
}
