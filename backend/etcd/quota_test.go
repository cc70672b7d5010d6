package etcd

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
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

// Where the members of etcd differ, nothing is granted, which says what to do; what is held is renewed.
func TestMembersDiffer(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	client := etcdtest.Client(t, s)
	a := listen(t, etcdtest.URL(s), "a")
	n := a.TakeFor("n", time.Minute)
	alarm := func(do pb.AlarmRequest_AlarmAction) {
		t.Helper()
		r := &pb.AlarmRequest{Action: do, Alarm: pb.AlarmType_CORRUPT}
		if _, err := pb.NewMaintenanceClient(client.ActiveConnection()).Alarm(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	alarm(pb.AlarmRequest_ACTIVATE)
	_, err := a.Swap(t.Context(), ledger.Swap{Name: "m"})
	if !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "hashkv") {
		t.Errorf("with members that differ: %v", err)
	}
	if err := a.RenewFor("n", n.Record.Firm("a").ID, time.Minute); err != nil {
		t.Errorf("what is held is not renewed: %v", err)
	}
	for _, f := range Examine(t.Context(), Config{URL: etcdtest.URL(s)}) {
		if f.Fails && !strings.Contains(f.Detail+f.Remedy, "hashkv") {
			t.Errorf("doctor says of it %+v", f)
		}
	}
	alarm(pb.AlarmRequest_DEACTIVATE)
	a.Take("m")
}
