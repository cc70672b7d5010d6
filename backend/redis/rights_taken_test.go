package redis_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// A right that is taken away while a node holds a lock is no loss of it, and nothing new is
// granted that could not be renewed or given back: the refusals, and Ping, name the right. Nor is
// anything else named that would be wrong, and deleted for it. With the right the hold goes on.
func TestRightTakenAway(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	const rights = "on >p ~* &* +@all"
	for _, command := range []string{"GET", "SET", "GETRANGE", "SETRANGE", "HEXISTS", "PEXPIREAT", "HSET"} {
		user := "no_" + command
		setUser(t, s, user, rights)
		n := openNode(t, "redis://"+user+":p@"+s.Addr, "of-"+command, redis.GuardQuarantine)
		h := n.takes(command)
		setUser(t, s, user, "-"+strings.ToLower(command))
		if err := n.renews(command, h); errors.Is(err, backend.ErrNotHeld) || errors.Is(err, backend.ErrRefused) {
			t.Errorf("without %s, renew: %v", command, err)
		}
		var err error
		for range 2 { // the first may be what finds it out
			_, err = n.Swap(t.Context(), n.swapOf("other-"+command, ledger.Reply{}, ledger.Op{Want: 1}))
			if err == nil || strings.Contains(err.Error(), "delete it") {
				t.Errorf("without %s, take: %v", command, err)
			}
		}
		for _, err := range []error{err, n.Ping(t.Context())} {
			if command == "GET" && err != nil && strings.Contains(err.Error(), "run the 'get' command") {
				continue // the guard could not ask, either
			}
			if !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "allow it "+command+";") {
				t.Errorf("without %s: %v, want a refusal that names it", command, err)
			}
		}
		setUser(t, s, user, "+"+strings.ToLower(command))
		if err := n.renews(command, h); err != nil {
			t.Errorf("with %s again, renew: %v", command, err)
		}
		n.takes("after-" + command)
	}
}
