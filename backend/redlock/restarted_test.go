package redlock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/backend/tabletest"
)

// A server is not trusted that was new with the others, did not say then who it is, and was
// restarted since.
func TestRestartedBeforeItSaysWhoItIs(t *testing.T) {
	t.Parallel()
	all, _ := servers(t, 3)
	link := tabletest.NewRelay(t, all[2].Addr)
	link.Mute("info")
	a := openTable(t, "redlock://"+strings.Join([]string{all[0].Addr, all[1].Addr, link.Addr}, ","), "a")
	ask := func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _ = a.Swap(ctx, ledger.Swap{Name: "new", Record: ledger.Record{Top: 1, Holds: []ledger.Hold{{Node: "a", Count: 1, ID: 1}}}})
	}
	ask()
	all[2].RestartEmpty()
	mark := func() string { ask(); return all[2].Client().Get(t.Context(), "lockgw:guard:{0}").Val() }
	redistest.Await(t, "the server was looked at", func() bool { return mark() != "" })
	if id := mark(); id != "doubted" {
		t.Errorf("a server that was restarted is trusted: %s", id)
	}
}
