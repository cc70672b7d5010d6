package postgres

import (
	"strings"
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

// A write whose answer is lost with the connection may have been carried out, whatever the
// client library says of it.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	tabletest.LostAnswers(t, s.Addr, func(t *testing.T, addr, node string) ledger.Table {
		return open(t, strings.Replace(s.URL(), s.Addr, addr, 1), node)
	})
}
