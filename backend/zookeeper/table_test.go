package zookeeper

import (
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
