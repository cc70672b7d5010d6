package mysql

import (
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
	"github.com/lockgw/lockgw/backend/tabletest"
)

func TestTable(t *testing.T) {
	s := mysqltest.Start(t)
	tabletest.Run(t, func(t *testing.T, node string) ledger.Table {
		return open(t, s.URL()+"&pool_max_conns=3&connect-timeout=30", node)
	})
}

// A write whose answer is lost with the connection may have been carried out.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	tabletest.LostAnswers(t, s.Addr, func(t *testing.T, addr, node string) ledger.Table {
		return open(t, strings.Replace(s.URL(), s.Addr, addr, 1), node)
	})
}
