package mysql

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
)

// lease is how long quarantines last here.
const lease = 2 * time.Second

func guarded(c *Config) { c.Guard, c.Lease = GuardQuarantine, lease }

// settled asks again until the server answers, for as long as it is down or was met for the
// first time.
func settled(t *testing.T, table *Table, name string, op ledger.Op) (ledger.Reply, error) {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); ; {
		r, err := step(t, table, name, op)
		var later *backend.Later
		if err == nil || errors.As(err, &later) || time.Now().After(end) {
			return r, err
		}
		pause(t, 20*time.Millisecond)
	}
}

func pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

func held(t *testing.T, table *Table, name string) backend.Fence {
	t.Helper()
	r, err := settled(t, table, name, ledger.Op{Want: 1})
	if err != nil || r.Record.Firm(table.Node()) == nil {
		t.Fatalf("not granted: %+v, %v", r, err)
	}
	return r.Record.Firm(table.Node()).ID
}

// refuses: nothing is granted, and everybody is told why and for how long; what gives back
// and what takes back a hold goes on; and in the end names are granted again.
func refuses(t *testing.T, table *Table, lives backend.Fence) {
	t.Helper()
	began := time.Now()
	_, err := settled(t, table, "other", ledger.Op{Want: 1})
	var later *backend.Later
	if !errors.As(err, &later) || !errors.Is(err, backend.ErrRefused) || later.After > lease || !strings.Contains(err.Error(), "may have forgotten") {
		t.Fatalf("granted by a server that may have forgotten: %v", err)
	}
	if r, err := table.Look(t.Context(), "other"); err != nil || !strings.Contains(r.Refusing, "may have forgotten") {
		t.Errorf("look = %+v, %v, want why nothing is granted", r, err)
	}
	if err := table.Ping(t.Context()); !errors.As(err, &later) || !errors.Is(err, backend.ErrPartly) {
		t.Errorf("ping = %v, want a time and %v", err, backend.ErrPartly)
	}
	r, err := settled(t, table, "n", ledger.Op{Verb: ledger.Reclaim, Hold: lives, Keep: 1, Restore: true, Floor: lives + 64})
	if err != nil || r.Record.Firm(table.Node()) == nil || r.Record.Firm(table.Node()).ID != lives {
		t.Errorf("a hold that lives on is not taken back: %+v, %v", r, err)
	}
	if _, err := settled(t, table, "other", ledger.Op{Verb: ledger.Leave}); err != nil {
		t.Errorf("nobody may leave: %v", err)
	}
	for {
		_, err := settled(t, table, "other", ledger.Op{Want: 1})
		if err == nil {
			break
		}
		if time.Since(began) > 4*lease {
			t.Fatalf("after %v still %v", time.Since(began), err)
		}
		pause(t, 50*time.Millisecond)
	}
	if d := time.Since(began); d < lease-time.Second {
		t.Errorf("granted again after %v already, want about %v", d, lease)
	}
}

func TestQuarantine(t *testing.T) {
	for name, happens := range map[string]func(*mysqltest.Server){
		"crashed":         (*mysqltest.Server).Restart,
		"empty":           (*mysqltest.Server).RestartEmpty,
		"restarted":       func(s *mysqltest.Server) { s.Stop(); s.Launch() },
		"an earlier copy": func(s *mysqltest.Server) { s.Stop(); s.Restore(); s.Launch() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mysqltest.Start(t)
			table := open(t, s.URL(), "a", guarded)
			held(t, table, "before")
			if name == "an earlier copy" {
				s.Stop()
				s.Copy()
				s.Launch()
			}
			lives := held2(t, table)
			happens(s)
			refuses(t, table, lives)
		})
	}
}

// held2 is the hold of n, which is asked for once there is no quarantine any more.
func held2(t *testing.T, table *Table) backend.Fence {
	t.Helper()
	for end := time.Now().Add(4 * lease); ; pause(t, 50*time.Millisecond) {
		r, err := settled(t, table, "n", ledger.Op{Want: 1})
		if h := r.Record.Firm(table.Node()); err == nil && h != nil {
			return h.ID
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// A gateway that knows of servers does not take an empty one for new, even if another
// gateway has, which knew of none. Nor does its next process.
func TestQuarantineOfAnEmptiedDatabase(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	file := func(c *Config) { c.GuardFile = filepath.Join(filepath.Dir(s.Dir()), "guard-"+filepath.Base(s.Dir())) }
	a := open(t, s.URL(), "a", guarded, file)
	held(t, a, "n")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	sql(t, s, "DROP DATABASE locks", "CREATE DATABASE locks")
	b := open(t, s.URL(), "b", guarded)
	if r, err := step(t, b, "m", ledger.Op{Want: 1}); err != nil || !r.Written {
		t.Fatalf("a gateway that knows nothing: %+v, %v", r, err)
	}
	a = open(t, s.URL(), "a", guarded, file)
	refuses(t, a, 1000)
}

// Without a guard, and with one at the first sight, there is no quarantine.
func TestNoQuarantine(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	table := open(t, s.URL(), "a")
	held(t, table, "n")
	s.Restart()
	held(t, table, "m")
}

// Whoever takes over from a server may not have heard of the last grants; and a replica takes
// no locks.
func TestFailover(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t, mysqltest.Replicates(1)...)
	table := open(t, s.URL(), "a", guarded)
	lives := held(t, table, "n")
	replica := mysqltest.Start(t, mysqltest.Replicates(2)...)
	sql(t, replica, mysqltest.Follow(s)...)
	sql(t, replica, "SET GLOBAL read_only = 1")
	alone := open(t, replica.URL(), "b", guarded)
	if err := alone.Ping(t.Context()); !errors.Is(err, backend.ErrRefused) || !contains(err, "replica or read-only") {
		t.Errorf("a replica: %v", err)
	}
	both := open(t, strings.Replace(s.URL(), s.Addr, replica.Addr+","+s.Addr, 1), "a", guarded)
	held(t, both, "both")
	for _, arrived := range []string{ // the table, and what is in it
		"SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'locks' AND TABLE_NAME = 'lockgw_mail'",
		"SELECT 1 FROM locks.lockgw_names WHERE name = 'both'",
	} {
		for end := time.Now().Add(time.Minute); len(sql(t, replica, arrived)) == 0; pause(t, 10*time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("nothing is replicated: %v", sql(t, replica, mysqltest.Follows()))
			}
		}
	}
	s.Kill()
	sql(t, replica, mysqltest.Unfollow()...)
	sql(t, replica, "SET GLOBAL read_only = 0")
	refuses(t, both, lives)
}

// A server that was started twice in the same second names the same run. Its count of statements
// begins anew.
func TestQuarantineInTheSameSecond(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a := open(t, s.URL(), "a", guarded)
	lives := held(t, a, "n")
	before := *a.count.Load()
	if err := a.decide(t.Context()); err != nil {
		t.Fatalf("a server that goes on is not trusted: %v", err)
	}
	if now := *a.count.Load(); now.n <= before.n || now.identity != before.identity {
		t.Errorf("the server has counted %+v, and then %+v", before, now)
	}
	a.count.Store(&count{before.identity, 1 << 40}) // of a run that was long
	a.reset()
	refuses(t, a, lives)
}

// What names a run stays, whatever clients do.
func TestRunHasOneName(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a := open(t, s.URL(), "a", guarded)
	names := map[string]bool{}
	for n := range 12 {
		if n == 6 { // numbers of which an earlier version took the time of the start
			sql(t, s, "DO BENCHMARK(17000000, UUID_SHORT())", "FLUSH STATUS")
		}
		a.reset()
		held(t, a, "n")
		names[a.count.Load().identity] = true
		pause(t, 100*time.Millisecond)
	}
	if len(names) != 1 || a.runs.Refusing() != "" {
		t.Errorf("a run has the names %v; refusing: %q", names, a.runs.Refusing())
	}
}

// A machine that was put back to an earlier state while it ran has the same server on it, that
// was started at the same time.
func TestQuarantineAfterPutBack(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a, _ := listening(t, s.URL(), "a", guarded)
	until(t, a, "")
	lives := held(t, a, "n")
	sql(t, s, "UPDATE locks.lockgw_nodes SET beats = 0")
	if err := a.decide(t.Context()); !errors.As(err, new(*backend.Later)) {
		t.Fatalf("it was put back, and nobody has noticed: %v", err)
	}
	refuses(t, a, lives)
}
