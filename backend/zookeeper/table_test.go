package zookeeper

import (
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/tabletest"
	"github.com/lockgw/lockgw/backend/zookeeper/zktest"
)

func TestTable(t *testing.T) {
	t.Parallel()
	url := zktest.URL(chroot("table"), zktest.Shared(t))
	tabletest.Run(t, func(t *testing.T, node string) ledger.Table { return open(t, url, node) })
}

// A write whose answer is lost with the connection may have been carried out.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	s, at := zktest.Shared(t), chroot("lost")
	tabletest.LostAnswers(t, s.Addr, func(t *testing.T, addr, node string) ledger.Table {
		return open(t, strings.Replace(zktest.URL(at, s), s.Addr, addr, 1), node)
	})
}
