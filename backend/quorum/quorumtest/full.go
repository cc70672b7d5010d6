package quorumtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/servertest"
)

// DiskIsFull fills the disk of a server, which is a servertest.SmallDisk, while a and b use it.
// The server ends itself. Nothing is granted then, and what was granted is not granted again
// once there is room and it was started again.
func DiskIsFull(t *testing.T, s *servertest.Keeper, a, b *Client) {
	t.Helper()
	granted := []string{"before"}
	before := a.TakeFor("before", time.Hour)
	held := before.Record.Firm(a.Node()).ID
	free := servertest.Fill(t, s.Data, 64<<10)
	var full error
	for i, end := 0, time.Now().Add(Patience); s.Running() && time.Now().Before(end); i++ { // a busy one may be late once
		name := fmt.Sprint("n-", i)
		var r ledger.Reply
		if r, full = a.Try(name, ledger.Op{Want: 1, TTL: time.Hour}); full == nil && r.Record.Firm(a.Node()) != nil {
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
			if r, err := b.Try(name, ledger.Op{Want: 1}); err == nil && r.Record.Firm(b.Node()) != nil {
				t.Fatalf("%s is held, and was granted again", name)
			}
		}
		r, err := b.Try("after", ledger.Op{Want: 1, Lapse: true})
		return err == nil && r.Record.Firm(b.Node()) != nil
	})
	until(t, "what was held is lost", func() bool { return a.RenewFor("before", held, time.Hour) == nil })
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}
