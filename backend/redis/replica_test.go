package redis_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// follows makes s a replica of master, which it has all of then.
func follows(t *testing.T, s, master *redistest.Server) {
	t.Helper()
	host, port, _ := net.SplitHostPort(master.Addr)
	if err := s.Client().Do(t.Context(), "replicaof", host, port).Err(); err != nil {
		t.Fatal(err)
	}
	within(t, "the replica is up to date", func() bool {
		return strings.Contains(s.Client().Info(t.Context(), "replication").Val(), "master_link_status:up")
	})
}

// A master that was made a replica keeps its connections, while its address, which is that of a
// service or a proxy, leads to the next master. New locks are granted there.
func TestAddressLeadsToTheNextMaster(t *testing.T) {
	for _, guard := range []string{redis.GuardNone, redis.GuardQuarantine} {
		t.Run(guard, func(t *testing.T) {
			t.Parallel()
			first, next := redistest.Start(t), redistest.Start(t, "--repl-diskless-sync-delay", "0")
			address := redistest.Proxy(t, first.Addr)
			n := openImpatient(t, "redis://"+address.Addr, "n", guard)
			n.takes("x")
			var many sync.WaitGroup // connections
			for i := range 30 {
				many.Go(func() {
					_ = n.Send(t.Context(), []ledger.Addressed{{Name: fmt.Sprint(i), Message: ledger.Message{Node: "n"}}})
				})
			}
			many.Wait()
			follows(t, next, first)
			address.Lead(next.Addr)
			if err := next.Client().Do(t.Context(), "replicaof", "no", "one").Err(); err != nil {
				t.Fatal(err)
			}
			follows(t, first, next)
			began := time.Now()
			within(t, "the next master grants", func() bool {
				_, err := n.Swap(t.Context(), n.swapOf("y", ledger.Reply{}, ledger.Op{Want: 1}))
				return err == nil
			})
			if d := time.Since(began); d > 5*tableQuarantine {
				t.Errorf("granted after %v", d)
			}
			within(t, "it is ready", func() bool { return n.Ping(t.Context()) == nil })
		})
	}
}

// A gateway whose server was made a replica is not ready, for it grants nothing.
func TestReplicaIsNotReady(t *testing.T) {
	for _, guard := range []string{redis.GuardNone, redis.GuardQuarantine} {
		t.Run(guard, func(t *testing.T) {
			t.Parallel()
			s, other := redistest.Start(t, "--repl-diskless-sync-delay", "0"), redistest.Start(t, "--repl-diskless-sync-delay", "0")
			n := openNode(t, s.URL(), "n", guard)
			n.takes("x")
			if err := n.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
			follows(t, s, other)
			if err := n.Ping(t.Context()); !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "is a replica") {
				t.Errorf("ping = %v", err)
			}
		})
	}
}
