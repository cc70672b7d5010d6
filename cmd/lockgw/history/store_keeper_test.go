package history_test

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/servertest"
)

// keeperStore is what etcd and ZooKeeper have in common: messages come by the connection of all
// requests, and what was granted is forgotten by putting back a copy.
type keeperStore struct {
	*servertest.Keeper
	addr  string
	empty string // a copy of what it had at the beginning
}

// keeper starts k, which listens at addr, again, to have that copy.
func keeper(k *servertest.Keeper, addr string) keeperStore {
	k.Kill()
	empty := k.Copy()
	k.Restart()
	return keeperStore{k, addr, empty}
}

func (s keeperStore) server() string { return s.addr }

func (keeperStore) listens([]byte) bool { return false }

func (keeperStore) scripts(testing.TB) int64 { return 0 }

func (s keeperStore) slow(d time.Duration) {
	s.Pause()
	time.Sleep(d)
	s.Resume()
}

func (s keeperStore) restart() bool {
	s.Restart()
	return true
}

func (s keeperStore) forget() { s.Restore(s.empty) }
