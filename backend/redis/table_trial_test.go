package redis_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// unsound: err says that the compare-and-set does not work.
func unsound(err error) bool {
	return errors.Is(err, backend.ErrRefused) && strings.Contains(err.Error(), "compare-and-set does not work")
}

// What runs the scripts without what they compare is found out before the first lock is
// granted, and what is held goes on.
func TestSelfTest(t *testing.T) {
	t.Parallel()
	for name, changed := range map[string]*strings.Replacer{"versions": redistest.Versions, "leases": redistest.Leases} {
		for _, guard := range []string{redis.GuardNone, redis.GuardQuarantine} {
			t.Run(name+", guard "+guard, func(t *testing.T) {
				t.Parallel()
				s := redistest.Start(t)
				a := openNode(t, s.URL(), "a", guard)
				held := a.takes("n")
				if err := a.Close(); err != nil {
					t.Fatal(err)
				}
				again := openNode(t, "redis://"+redistest.Heedless(t, s.Addr, changed), "a", guard)
				for _, name := range []string{"m", "o"} {
					if r, err := again.try(name, ledger.Op{Want: 1}); !unsound(err) {
						t.Errorf("a store that compares nothing grants %s: %+v, %v", name, r, err)
					}
				}
				if err := again.Ping(t.Context()); !unsound(err) || errors.Is(err, backend.ErrPartly) {
					t.Errorf("ping = %v", err)
				}
				if seen := again.look("free"); !strings.Contains(seen.Refusing, "compare-and-set does not work") {
					t.Errorf("look = %+v", seen)
				}
				if errs, err := again.Renew(t.Context(), []ledger.Renewal{{Name: "n", ID: held.ID, TTL: time.Minute}}); err != nil || errs[0] != nil {
					t.Errorf("a renewal: %v, %v", errs, err)
				}
				if r := again.leaves("n"); len(r.Record.Holds) != 0 {
					t.Errorf("it was given back: %+v", r)
				}
			})
		}
	}
}

// A quarantine is no reason to tell nothing of it.
func TestSelfTestInQuarantine(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a := openNode(t, s.URL(), "a", redis.GuardQuarantine)
	a.takes("n")
	s.RestartEmpty()
	b := openNode(t, "redis://"+redistest.Heedless(t, s.Addr, redistest.Versions), "b", redis.GuardQuarantine)
	if err := b.Ping(t.Context()); !unsound(err) {
		t.Errorf("ping = %v", err)
	}
	if seen := b.look("free"); !strings.Contains(seen.Refusing, "compare-and-set does not work") {
		t.Errorf("look = %+v", seen)
	}
}

// A replica is told as one, though it cannot be tried either.
func TestSelfTestOfAReplica(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	r := redistest.Start(t, "--replicaof", strings.ReplaceAll(s.Addr, ":", " "))
	for _, guard := range []string{redis.GuardNone, redis.GuardQuarantine} {
		a := &node{Table: openTable(t, r.URL(), "a", guard), t: t, id: "a"}
		_, err := a.Swap(t.Context(), a.swapOf("n", ledger.Reply{}, ledger.Op{Want: 1}))
		if !errors.Is(err, backend.ErrRefused) || !strings.HasPrefix(err.Error(), backend.ErrRefused.Error()+": this Redis is a replica: connect to its master") {
			t.Errorf("guard %s: %v", guard, err)
		}
	}
}

// evals is how many scripts the server has run.
func evals(t *testing.T, s *redistest.Server) int64 {
	all := s.CommandStats(t)
	return all["eval"] + all["evalsha"]
}

// A server is tried once, by a few requests, and again where it may be another one. What is
// left goes by itself, and no list of locks has it.
func TestSelfTestIsRunOnce(t *testing.T) {
	t.Parallel()
	for _, guard := range []string{redis.GuardNone, redis.GuardQuarantine} {
		t.Run(guard, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			a := openNode(t, s.URL(), "a", guard)
			if n := evals(t, s); n != 0 {
				t.Errorf("%d scripts before anybody has asked for anything", n)
			}
			a.takes("first")
			n := evals(t, s)
			if n > 12 { // with those that are sent to be known
				t.Errorf("%d scripts for the first lock", n)
			}
			for range 20 {
				a.takes("x")
				a.leaves("x")
				if err := a.Ping(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if more := evals(t, s) - n; more != 80 {
				t.Errorf("%d scripts for 20 locks, want two looks and two writes for each", more)
			}
			rdb := s.Client()
			for _, key := range []string{"lockgw:selftest:a", "lockgw:{lockgw:selftest:a}"} {
				if left := rdb.PTTL(t.Context(), key).Val(); left == -1 || left > time.Minute {
					t.Errorf("%s stays for %v", key, left)
				}
			}
			if rdb.Exists(t.Context(), "lockgw:selftest:a").Val() != 0 {
				t.Error("the hold by which it was tried is there still")
			}
			if all, _, err := a.List(t.Context(), "", "", 100); err != nil || len(all) != 1 {
				t.Errorf("the list is %+v, %v", all, err)
			}
			rdb.Del(t.Context(), "lockgw:{lockgw:selftest:a}")
			s.Restart()
			a.hears("", ledger.Resync)
			within(t, "it grants again", func() bool {
				r, err := a.try("y", ledger.Op{Want: 1})
				return err == nil && r.Record.Firm("a") != nil
			})
			if rdb.Exists(t.Context(), "lockgw:{lockgw:selftest:a}").Val() != 1 {
				t.Error("after the restart it has granted without a try")
			}
		})
	}
}

// Each master of a cluster is tried by a key of its own.
func TestSelfTestOfEachMaster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	a := &node{Table: openTable(t, redistest.Patient(c.URL()), "a", redis.GuardQuarantine), t: t, id: "a"}
	tried := func() (n int) {
		for _, m := range c.Masters {
			keys, err := m.Client().Keys(t.Context(), "*lockgw:selftest:*a").Result()
			if err != nil {
				t.Fatal(err)
			}
			n += min(len(keys), 1)
		}
		return n
	}
	a.takes("x")
	if n := tried(); n != 1 {
		t.Errorf("%d masters were tried for one name", n)
	}
	b := openNode(t, c.URL(), "b-a", redis.GuardQuarantine)
	within(t, "all are ready", func() bool { return b.Ping(t.Context()) == nil })
	if n := tried(); n != 3 {
		t.Errorf("%d of 3 masters were tried", n)
	}
}
