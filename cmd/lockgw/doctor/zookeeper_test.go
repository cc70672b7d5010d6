package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/redis/examine"
	"github.com/lockgw/lockgw/backend/zookeeper/zktest"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
)

func TestZooKeeper(t *testing.T) {
	s := zktest.Start(t)
	url := "zookeeper://" + s.Addr
	found := examineStore(t.Context(), config.Backend{URL: url + "?tick=200ms&session=4s"}, 10*time.Second)
	wantLevel(t, levelOf(t, found, "member "+s.Addr), examine.OK, "takes sessions")
	wantLevel(t, levelOf(t, found, "connection"), examine.OK, "1 of 1 members")
	wantLevel(t, levelOf(t, found, "session"), examine.Warn, "the servers grant 4s, which is less than lock.ttl of 10s needs")
	wantLevel(t, levelOf(t, found, "lock"), examine.OK, "taken in")
	z := zktest.Client(t, s)
	for _, path := range []string{"/lockgw/n", "/lockgw/m", "/lockgw/p"} {
		if left, _, err := z.Children(path); err != nil || len(left) != 0 {
			t.Errorf("it leaves %v, %v", left, err)
		}
	}
	buckets, _, err := z.Children("/lockgw/l")
	for _, b := range buckets {
		if left, _, err := z.Children("/lockgw/l/" + b); err != nil || len(left) != 0 {
			t.Errorf("it leaves %v, %v", left, err)
		}
	}
	if err != nil || len(buckets) == 0 {
		t.Error(buckets, err)
	}

	found = examineStore(t.Context(), config.Backend{URL: strings.Replace(url, s.Addr, s.Addr+",127.0.0.1:1", 1)}, 0)
	wantLevel(t, levelOf(t, found, "member 127.0.0.1:1"), examine.Warn, "connection refused")
	wantLevel(t, levelOf(t, found, "lock"), examine.OK, "taken in")

	found = examineStore(t.Context(), config.Backend{URL: "zookeeper://u:sesame@127.0.0.1:1"}, 0)
	wantLevel(t, levelOf(t, found, "connection"), examine.Fail, "no member can be reached: 127.0.0.1:1")
	found = examineStore(t.Context(), config.Backend{URL: "zookeeper://h?x=1"}, 0)
	wantLevel(t, levelOf(t, found, "address"), examine.Fail, "unknown setting")
}
