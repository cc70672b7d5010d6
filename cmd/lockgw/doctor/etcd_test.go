package doctor

import (
	"testing"

	"github.com/lockgw/lockgw/backend/etcd/etcdtest"
	"github.com/lockgw/lockgw/backend/redis/examine"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
)

func TestEtcd(t *testing.T) {
	s := etcdtest.Start(t)
	found := examineStore(t.Context(), config.Backend{URL: etcdtest.URL(s)}, 0)
	wantLevel(t, levelOf(t, found, "member "+s.Addr), examine.OK, "etcd 3.")
	wantLevel(t, levelOf(t, found, "connection"), examine.OK, "1 of 1 members")
	wantLevel(t, levelOf(t, found, "lock"), examine.OK, "taken in")
	if r, err := etcdtest.Client(t, s).Get(t.Context(), "lockgw/l/lockgw:doctor:"); err != nil || len(r.Kvs) != 0 {
		t.Errorf("it leaves %v, %v", r.Kvs, err)
	}

	found = examineStore(t.Context(), config.Backend{URL: etcdtest.URL(s) + ",127.0.0.1:1"}, 0)
	wantLevel(t, levelOf(t, found, "member 127.0.0.1:1"), examine.Warn, "connection refused")
	wantLevel(t, levelOf(t, found, "lock"), examine.OK, "taken in")

	found = examineStore(t.Context(), config.Backend{URL: "etcd://u:sesame@127.0.0.1:1"}, 0)
	wantLevel(t, levelOf(t, found, "connection"), examine.Fail, "not reachable")
	found = examineStore(t.Context(), config.Backend{URL: "etcd://h?x=1"}, 0)
	wantLevel(t, levelOf(t, found, "address"), examine.Fail, "unknown setting")
}
