package redlock_test

import (
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// A server that may drop locks takes no part, as one that is down: what it has promised and
// accepted would be gone. That is noticed also where it is set while the gateway runs.
func TestEvictingServers(t *testing.T) {
	t.Parallel()
	all, url := servers(t, 3)
	evict := func(i int, policy string) {
		t.Helper()
		rdb := all[i].Client()
		rdb.ConfigSet(t.Context(), "maxmemory", "100mb")
		if err := rdb.ConfigSet(t.Context(), "maxmemory-policy", policy).Err(); err != nil {
			t.Fatal(err)
		}
	}
	evict(0, "allkeys-lru")
	a := gatewayTable{openTable(t, url, "a"), 3}
	a.Listen(func(ledger.Addressed) {})
	if err := a.Evicts(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "server 1: ") || strings.Contains(err.Error(), "server 2") {
		t.Errorf("may drop locks: %v, want the first server", err)
	}
	r, err := do(t, a.Table, ledger.Op{Want: 1})
	holds(t, r, err, "a")
	redistest.Await(t, "the two others have the record", func() bool {
		return all[1].Client().Exists(t.Context(), "lockgw:{x}").Val()+all[2].Client().Exists(t.Context(), "lockgw:{x}").Val() == 2
	})
	if all[0].Client().Exists(t.Context(), "lockgw:{x}").Val() != 0 {
		t.Error("a server that may drop locks takes part")
	}
	evict(1, "volatile-ttl")
	redistest.Await(t, "with one that keeps what it has nobody is granted anything", func() bool {
		err := a.Ping(t.Context())
		_, refused := do(t, openTable(t, url, "b"), ledger.Op{Want: 1})
		return err != nil && strings.Contains(err.Error(), "may drop locks") && refused != nil && strings.Contains(refused.Error(), "may drop locks")
	})
	redistest.Await(t, "nor by a gateway that has used it before", func() bool {
		_, err := do(t, a.Table, ledger.Op{Keep: 1, Want: 0, Retains: true})
		return err != nil && strings.Contains(err.Error(), "may drop locks")
	})
	evict(0, "noeviction")
	redistest.Await(t, "it takes no part at once, as it may have dropped some", func() bool {
		_, err := do(t, a.Table, ledger.Op{Verb: ledger.Leave})
		return err != nil && strings.Contains(err.Error(), "may have dropped locks")
	})
	if mark := all[0].Client().Get(t.Context(), "lockgw:guard:{0}").Val(); mark != "doubted" {
		t.Errorf("a gateway that comes now finds the mark %q", mark)
	}
}
