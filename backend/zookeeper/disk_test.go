package zookeeper

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/servertest"
	"github.com/lockgw/lockgw/backend/zookeeper/zktest"
)

// A ZooKeeper whose disk is full ends itself: nothing is granted then, and what was granted is
// not granted again once there is room and it was started again.
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	s := zktest.StartWith(t, func(dir string) { servertest.SmallDisk(t, dir, "96m") })
	a, b := listen(t, zktest.URL("full", s), "a"), listen(t, zktest.URL("full", s), "b")
	granted := []string{"before"}
	held := a.TakeFor("before", time.Hour)
	free := servertest.Fill(t, s.Dir, 64<<10)
	var full error
	for i := 0; full == nil && i < 100_000; i++ {
		name := fmt.Sprint("n-", i)
		var r ledger.Reply
		if r, full = a.Try(name, ledger.Op{Want: 1, TTL: time.Hour}); full == nil && r.Record.Firm("a") != nil {
			granted = append(granted, name)
		}
	}
	s.Ended()
	if len(granted) < 10 {
		t.Errorf("%d were granted in 64 KiB, then: %v", len(granted), full)
	}
	if r, err := a.Try("other", ledger.Op{Want: 1}); !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, backend.ErrRefused) {
		t.Errorf("there is no server, and it says %+v, %v", r, err)
	}
	if err := a.Ping(t.Context()); err == nil {
		t.Error("there is no server, and all is well")
	}
	free()
	s.Restart()
	until(t, "nothing is granted although there is room", func() bool {
		for _, name := range granted {
			if r, err := b.Try(name, ledger.Op{Want: 1}); err == nil && r.Record.Firm("b") != nil {
				t.Fatalf("%s is held, and was granted again", name)
			}
		}
		r, err := b.Try("after", ledger.Op{Want: 1, Lapse: true})
		return err == nil && r.Record.Firm("b") != nil
	})
	id := held.Record.Firm("a").ID
	until(t, "what was held is lost", func() bool {
		errs, err := a.Renew(t.Context(), []ledger.Renewal{{Name: "before", ID: id, TTL: time.Hour}})
		return err == nil && errs[0] == nil
	})
}
