package doctor

import (
	"testing"

	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
	"github.com/lockgw/lockgw/backend/redis/examine"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
)

func TestMySQL(t *testing.T) {
	t.Cleanup(mysqltest.RemoveTemplate)
	s := mysqltest.Start(t, "--log-bin=binlog", "--server-id=1", "--sync-binlog=0", "--max-allowed-packet=1M")
	found := examineStore(t.Context(), config.Backend{URL: s.URL()}, 0)
	wantLevel(t, levelOf(t, found, "connection"), examine.OK, s.Addr[len("127.0.0.1"):]+", database locks, user root")
	wantLevel(t, levelOf(t, found, "durability"), examine.Warn, "sync_binlog 0")
	wantLevel(t, levelOf(t, found, "requests"), examine.Warn, "max_allowed_packet 1048576")
	wantLevel(t, levelOf(t, found, "lock"), examine.OK, "taken in")
	wantLevel(t, levelOf(t, found, "push"), examine.OK, "messages arrive")
	s.Stop()
	s.Set("--sync-binlog=1", "--max-allowed-packet=16M", "--innodb-flush-log-at-trx-commit=2")
	s.Launch()
	found = examineStore(t.Context(), config.Backend{URL: s.URL()}, 0)
	wantLevel(t, levelOf(t, found, "connection"), examine.Fail, "SET GLOBAL innodb_flush_log_at_trx_commit = 1")
	s.Stop()
	s.Set("--innodb-flush-log-at-trx-commit=1")
	s.Launch()
	found = examineStore(t.Context(), config.Backend{URL: s.URL()}, 0)
	wantLevel(t, levelOf(t, found, "durability"), examine.OK, "sync_binlog 1")
	wantLevel(t, levelOf(t, found, "requests"), examine.OK, "16777216")

	found = examineStore(t.Context(), config.Backend{URL: "mysql://u:sesame@127.0.0.1:1/locks"}, 0)
	wantLevel(t, levelOf(t, found, "connection"), examine.Fail, "not reachable")
	found = examineStore(t.Context(), config.Backend{URL: "mysql://h"}, 0)
	wantLevel(t, levelOf(t, found, "address"), examine.Fail, "names no database")
}
