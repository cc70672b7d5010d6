package etcd

import (
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/etcd/etcdtest"
	"github.com/lockgw/lockgw/backend/ledger"
)

// A member that was replaced, and still learns, costs nothing where others take requests; where it
// is alone, the error says what to do.
func TestLearner(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, "--strict-reconfig-check=false")
	learner := etcdtest.StartLearner(t, s)
	both := etcdtest.URL(learner, s)
	a, b := listen(t, both, "a"), listen(t, both, "b")
	for range 10 {
		r := a.TakeFor("n", time.Minute)
		if err := a.RenewFor("n", r.Record.Firm("a").ID, time.Hour); err != nil {
			t.Fatal(err)
		}
		b.Ask("n", ledger.Op{Want: 1})
		a.Hears(ledger.Waits)
		a.Leave("n")
		b.Hears(ledger.Look)
		b.TakeFor("n", time.Minute)
		b.Leave("n")
	}
	c, err := a.link.client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	link := newLink(func() (*clientv3.Client, error) { return c, nil })
	lease, err := c.Grant(t.Context(), 60)
	if err != nil {
		t.Fatal(err)
	}
	for range 4 { // each by a stream of its own, which may go to either
		if _, err := link.keepAlive(t.Context(), lease.ID); err != nil {
			t.Error(err)
		}
		link.stop()
		link.beat = nil
	}
	found := Examine(t.Context(), Config{URL: both})
	if !slices.ContainsFunc(found, func(f backend.Finding) bool { return f.Warned && strings.Contains(f.Detail, "learner") }) ||
		slices.ContainsFunc(found, func(f backend.Finding) bool { return f.Fails }) {
		t.Errorf("doctor finds %+v", found)
	}
	refuses(t, etcdtest.URL(learner), "member promote")
}
