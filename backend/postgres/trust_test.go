package postgres

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
)

// lease is how long quarantines last here: longer than what a busy machine does meanwhile.
const lease = 4 * time.Second

func guarded(c *Config) { c.Guard, c.Lease = GuardQuarantine, lease }

// settled asks again until the server answers, for as long as it is down or was met for the
// first time.
func settled(t *testing.T, table *Table, name string, op ledger.Op) (ledger.Reply, error) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
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
		if time.Since(began) > time.Minute {
			t.Fatalf("after %v still %v", time.Since(began), err)
		}
		pause(t, 50*time.Millisecond)
	}
	if d := time.Since(began); d < lease-time.Second {
		t.Errorf("granted again after %v already, want about %v", d, lease)
	}
}

func TestQuarantine(t *testing.T) {
	for name, happens := range map[string]func(*pgtest.Server){
		"crashed":         (*pgtest.Server).Restart,
		"empty":           (*pgtest.Server).RestartEmpty,
		"restarted":       func(s *pgtest.Server) { s.Stop(); s.Launch() },
		"an earlier copy": func(s *pgtest.Server) { s.Stop(); s.Restore(); s.Launch() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := pgtest.Start(t)
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
	for end := time.Now().Add(time.Minute); ; pause(t, 50*time.Millisecond) {
		r, err := settled(t, table, "n", ledger.Op{Want: 1})
		if h := r.Record.Firm(table.Node()); err == nil && h != nil {
			return h.ID
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// One backend that crashes takes all others with it, and what was not on the disk yet. The
// server has not started anew by its own account.
func TestQuarantineAfterBackendCrash(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	table := open(t, s.URL(), "a", guarded)
	lives := held(t, table, "n")
	c := connect(t, s.URL())
	other := connect(t, s.URL())
	s.Crash(int(c.PgConn().PID()))
	for other.Ping(t.Context()) == nil { // until it has noticed
		pause(t, 5*time.Millisecond)
	}
	refuses(t, table, lives)
}

// A gateway that knows of servers does not take an empty one for new, even if another
// gateway has, which knew of none. Nor does its next process.
func TestQuarantineOfAnEmptiedDatabase(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	file := func(c *Config) { c.GuardFile = filepath.Join(filepath.Dir(s.Dir()), "guard-"+filepath.Base(s.Dir())) }
	a := open(t, s.URL(), "a", guarded, file)
	held(t, a, "n")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	carryOut(t, connect(t, s.URL()), `DROP SCHEMA lockgw CASCADE`)
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
	s := pgtest.Start(t)
	table := open(t, s.URL(), "a")
	held(t, table, "n")
	s.Restart()
	held(t, table, "m")
}

// Whoever takes over from a primary may not have heard of the last grants; and a standby
// takes no locks.
func TestFailover(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	table := open(t, s.URL(), "a", guarded)
	lives := held(t, table, "n")
	standby := s.Standby()
	alone := open(t, standby.URL(), "b", guarded)
	if err := alone.Ping(t.Context()); !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "standby") {
		t.Errorf("a standby: %v", err)
	}
	both := open(t, "postgres://postgres@"+standby.Addr+","+s.Addr+"/postgres?sslmode=disable", "a", guarded)
	held(t, both, "both")
	s.Kill()
	standby.Promote()
	refuses(t, both, lives)
}
