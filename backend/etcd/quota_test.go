package etcd

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/etcd/etcdtest"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Writes that use up the quota of etcd are carried out, and called an error all the same.
// None of them counts as refused; what comes later is refused, and nothing is changed by it.
func TestQuota(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, "--quota-backend-bytes=2500000", "--backend-batch-interval=1ms")
	client := etcdtest.Client(t, s)
	table := open(t, etcdtest.URL(s), "a")
	defer func() { _ = table.Close() }()
	table.Listen(func(ledger.Addressed) {})
	about := strings.Repeat("x", 30_000)
	write := func(name string) error {
		next, effects := ledger.Step(ledger.Record{}, ledger.Op{
			Node: "a", Want: 1, Turns: 1, TTL: 30 * time.Second, OfferTTL: time.Second, Callers: []ledger.Caller{{Owner: "o", About: about}},
		}, 0)
		_, err := table.Swap(t.Context(), ledger.Swap{Name: name, Record: next, Effects: effects})
		return err
	}
	var wg sync.WaitGroup
	for g := range 24 {
		wg.Go(func() {
			for i := range 200 {
				name := fmt.Sprintf("lock-%d-%d", g, i)
				err := write(name)
				if err == nil {
					continue
				}
				r, e := client.Get(t.Context(), table.keys.record(name))
				switch {
				case e != nil:
					t.Error(e)
				case errors.Is(err, backend.ErrRefused) && len(r.Kvs) > 0:
					t.Errorf("%s was written, and it is said that %v", name, err)
				case !strings.Contains(err.Error(), "quota"):
					t.Errorf("%s: %v", name, err)
				}
				return
			}
			t.Error("the quota was not used up")
		})
	}
	wg.Wait()
	if err := write("late"); !errors.Is(err, backend.ErrRefused) {
		t.Errorf("with the quota used up: %v, want %v", err, rpctypes.ErrNoSpace)
	}
}

// What is too large for etcd is refused, be it by etcd or by the library, and says so.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	a := guarded(t, etcdtest.Start(t), "a", time.Minute)
	a.Take("other")
	for _, size := range []int{1600 << 10, 3 << 20} {
		record := ledger.Record{Top: 1, Queue: []ledger.Entry{{Node: strings.Repeat("x", size), Want: 1}}}
		_, err := a.Swap(t.Context(), ledger.Swap{Name: "n", Absolute: true, Record: record})
		if !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "larger than etcd takes") {
			t.Errorf("with %d bytes: %v", size, err)
		}
	}
}
