package redis_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/conn"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// A slot moves from one master to another: what is held goes on, and new names of the slot
// are granted afterwards.
func TestTableFollowsMoves(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	a := openNode(t, c.URL(), "a", redis.GuardQuarantine)
	const held, tag = "held{m}", "{m}"
	h := a.takes(held)
	from := c.Owner(tag)
	to := other(c, from)
	c.Move(tag, from, to)
	within(t, "the lease is renewed where the slot is now", func() bool {
		errs, err := a.Renew(t.Context(), []ledger.Renewal{{Name: held, ID: h.ID, TTL: time.Minute}})
		return err == nil && errs[0] == nil
	})
	if r := a.look(held); r.Record.Firm("a") == nil || r.Record.Firm("a").ID != h.ID {
		t.Errorf("then there is %+v", r)
	}
	a.leaves(held)
	if next := a.takes(held); next.ID <= h.ID {
		t.Errorf("fence %d after %d", next.ID, h.ID)
	}
	a.takes("afterwards{m}")
}

// One master that comes back empty is in quarantine alone.
func TestTableQuarantineOfOneMaster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	a := openNode(t, c.URL(), "a", redis.GuardQuarantine)
	a.hears("", ledger.Resync) // of each
	a.hears("", ledger.Resync)
	a.takes("x")
	victim := c.Owner("x")
	good := ""
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
		if a.takes(name); c.Owner(name) != victim {
			good = name
		}
	}
	victim.Restart()
	within(t, "the master answers", func() bool {
		r, err := a.Look(t.Context(), "x")
		return err == nil && r.Version == ""
	})
	_, err := a.try("x", ledger.Op{Want: 1})
	wantLater(t, err)
	a.leaves(good)
	a.takes(good)
}

// While a slot is on its way, Redis runs no script that names a key which is missing. What
// is held is renewed, looked at and given back all the same.
func TestTableWhileASlotMoves(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	a := openNode(t, c.URL(), "a", redis.GuardQuarantine)
	const held = "held{m}"
	h := a.takes(held)
	keeps := openKeeping(t, c.URL(), "keeps", time.Hour)
	const counted = "counted{m}"
	id := keeps.takes(counted).ID
	from := c.Owner(held)
	to := other(c, from)
	says := func(s *redistest.Server, words ...any) any {
		t.Helper()
		v, err := s.Client().Do(t.Context(), append([]any{"cluster"}, words...)...).Result()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	slot := says(from, "keyslot", held)
	says(to, "setslot", slot, "importing", says(from, "myid"))
	says(from, "setslot", slot, "migrating", says(to, "myid"))
	if errs, err := a.Renew(t.Context(), []ledger.Renewal{{Name: held, ID: h.ID, TTL: time.Minute}}); err != nil || errs[0] != nil {
		t.Errorf("renew: %v, %v", errs, err)
	}
	from.Client().Del(t.Context(), "redisson_lock_token:"+counted) // one that is not there keeps no lease from being renewed
	if errs, err := keeps.Renew(t.Context(), []ledger.Renewal{{Name: counted, ID: id, TTL: time.Minute}}); err != nil || errs[0] != nil {
		t.Errorf("renew without a fence counter: %v, %v", errs, err)
	}
	if r := a.leaves(held); r.Record.Firm("a") != nil {
		t.Errorf("given back, there is %+v", r)
	}
}

// A master that is cut off from the cluster, and not from its clients, refuses everything. What is
// held is renewed where its replica has taken over, long before the lease is over.
func TestTableLeavesAMasterThatIsCutOff(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 1)
	a := openNode(t, c.URL(), "a", redis.GuardQuarantine)
	name := namesOn(t, c)[0]
	renewal := []ledger.Renewal{{Name: name, ID: a.takes(name).ID, TTL: time.Hour}}
	renewed := func() bool {
		errs, err := a.Renew(t.Context(), renewal)
		return err == nil && errs[0] == nil
	}
	within(t, "the lease is renewed", renewed)
	c.Depose(c.Masters[0], c.Replicas[0])
	for end := time.Now().Add(30 * time.Second); !renewed(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) { // go-redis itself looks at the cluster anew once a minute
			t.Fatal("not renewed")
		}
	}
}

// Two gateways come to a new cluster at once. The one that finds some servers marked by the
// other, and some not yet, takes none for one that has lost everything.
func TestMarksOfANewClusterComeApart(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	leaveMark := func(s *redistest.Server) func() {
		said, err := conn.ReadInfo(t.Context(), s.Client(), "server", "replication")
		if err != nil {
			t.Fatal(err)
		}
		key, id := first(c, s, "lockgw:guard:{%d}"), said["run_id"]+said["master_replid"]
		return func() {
			if err := s.Client().Set(t.Context(), key, id, 0).Err(); err != nil {
				t.Errorf("leave a mark: %v", err)
			}
		}
	}
	leaveMark(c.Masters[0])()
	second, third := leaveMark(c.Masters[1]), leaveMark(c.Masters[2])
	rest := time.AfterFunc(300*time.Millisecond, func() { second(); third() })
	defer rest.Stop()
	b := openNode(t, c.URL(), "b", redis.GuardQuarantine)
	for _, s := range c.Masters {
		b.takes(first(c, s, "name%d"))
	}
}

// first is the first key of this form whose slot s has.
func first(c *redistest.Cluster, s *redistest.Server, form string) string {
	for i := 0; ; i++ {
		if key := fmt.Sprintf(form, i); c.Owner(key) == s {
			return key
		}
	}
}
