package restarts

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/etcd/etcdtest"
	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
	"github.com/lockgw/lockgw/backend/zookeeper/zktest"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

func TestRestartOverEtcd(t *testing.T) {
	t.Parallel()
	restartOver(t, etcdtest.URL(etcdtest.Start(t)))
}

func TestRestartOverZooKeeper(t *testing.T) {
	t.Parallel()
	restartOver(t, "zookeeper://"+zktest.Start(t).Addr+"?tick=200ms")
}

func TestRestartOverMySQL(t *testing.T) {
	t.Parallel()
	t.Cleanup(mysqltest.RemoveTemplate)
	restartOver(t, mysqltest.Start(t).URL())
}

// restartOver has two gateways over the store: a name is handed over, it survives kill -9 of
// its gateway and a restart inside the ttl, and is free soon after the ttl where none comes
// back.
func restartOver(t *testing.T, url string) {
	t.Helper()
	const short = 8 * time.Second
	var gs []*gateway
	for _, name := range []string{"first", "second"} {
		g := newGateway(t, e2e.ShortDir(t), name, url)
		g.Configure(t, strings.Replace(g.Configuration(t), fmt.Sprint("{ttl: ", ttl), fmt.Sprint("{ttl: ", short), 1))
		g.mustStart(t)
		gs = append(gs, g)
	}
	d, held := mustHold(t, gs[0], "nightly", `{"keepalive":"1h"}`)
	other, err := openWeb(t.Context(), gs[1], `{"keepalive":"1h"}`)
	if err != nil {
		t.Fatal(err)
	}
	gs[0].Kill()
	gs[0].mustStart(t)
	if again, err := d.acquire(t.Context(), "nightly", "again", 0); err != nil || again.Fence != held.Fence {
		t.Errorf("after a restart inside the ttl: %+v, %v, want fence %d", again, err, held.Fence)
	}
	if l, err := other.acquire(t.Context(), "nightly", "early", short+time.Second); err == nil && l.Fence != 0 {
		t.Fatalf("what the first gateway holds and renews was granted: %+v", l)
	}
	gs[0].Kill()
	killed := time.Now()
	l, err := other.acquire(t.Context(), "nightly", "late", time.Minute)
	if err != nil || l.Fence <= held.Fence {
		t.Fatalf("after the death of its gateway: %+v, %v, want a fence above %d", l, err, held.Fence)
	}
	if took := time.Since(killed); took > 4*short {
		t.Errorf("it was free %v after the death of its gateway, whose ttl was %v", took, short)
	}
}
