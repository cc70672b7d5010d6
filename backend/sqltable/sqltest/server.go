package sqltest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Server is a database server that a test has started.
type Server interface {
	URL() string
	Dir() string // its own, in one of the test
	Pause()
	Resume()
	Stop()
	Launch()
	Restart() // by a crash
	RestartEmpty()
	Copy() string        // its data, while it is stopped
	Restore(from string) // kills it, and starts it with what was copied
}

// Store is a kind of servers, and of tables over them.
type Store struct {
	Start func(t *testing.T) Server
	// Open makes the table of a node at url, which the test closes.
	Open func(t *testing.T, url, node string, g Guard) ledger.Table
	// Do carries out statements as the administrator.
	Do func(t *testing.T, s Server, statements ...string)
}

// Guard is the quarantine of a table, which lasts for Lease.
type Guard struct {
	On   bool
	File string // what it remembers; "": nothing
}

// Quarantine wants that nothing is granted by a server that may have forgotten what it had
// granted, for as long as a lease lasts.
func Quarantine(t *testing.T, store Store) {
	for name, happens := range map[string]func(s Server, earlier string){
		"crashed":         func(s Server, _ string) { s.Restart() },
		"empty":           func(s Server, _ string) { s.RestartEmpty() },
		"restarted":       func(s Server, _ string) { s.Stop(); s.Launch() },
		"an earlier copy": func(s Server, earlier string) { s.Stop(); s.Restore(earlier) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := store.Start(t)
			table := store.Open(t, s.URL(), "a", Guard{On: true})
			Held(t, table, "before")
			earlier := ""
			if name == "an earlier copy" {
				s.Stop()
				earlier = s.Copy()
				s.Launch()
			}
			lives := Granted(t, table, "n")
			happens(s, earlier)
			Refuses(t, table, lives)
		})
	}
}

// Follows wants that a gateway goes along when its address leads to another server, although the one
// before and the connections to it go on; and back: neither has heard of what the other has granted.
// relay passes connections on to a server, and lead has those to come go to another one.
func Follows(t *testing.T, store Store, relay func(t *testing.T, to string) (addr string, lead func(to string))) {
	t.Parallel()
	at := func(s Server) string {
		u, err := url.Parse(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		return u.Host
	}
	first, other := store.Start(t), store.Start(t)
	addr, lead := relay(t, at(first))
	table := store.Open(t, strings.Replace(first.URL(), at(first), addr, 1), "a", Guard{On: true})
	table.Listen(func(ledger.Addressed) {})
	lives := Held(t, table, "n")
	for _, to := range []Server{other, first} {
		Until(t, table, "")
		lead(at(to))
		Until(t, table, "may have forgotten")
		Refuses(t, table, lives)
		if r, err := Step(t, store.Open(t, to.URL(), "b", Guard{}), "other", ledger.Op{Want: 1}); err != nil || r.Record.Firm("b") != nil {
			t.Errorf("what was granted last is not at the server to which the address leads: %+v, %v", r, err)
		}
	}
}

// QuarantineOfAnEmptied wants that a gateway that knows of servers does not take one that was
// emptied by these statements for new, even if another gateway has, which knew of none. Nor does
// its next process.
func QuarantineOfAnEmptied(t *testing.T, store Store, statements ...string) {
	t.Parallel()
	s := store.Start(t)
	knows := Guard{On: true, File: filepath.Join(filepath.Dir(s.Dir()), "guard-"+filepath.Base(s.Dir()))}
	a := store.Open(t, s.URL(), "a", knows)
	Held(t, a, "n")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	store.Do(t, s, statements...)
	b := store.Open(t, s.URL(), "b", Guard{On: true})
	if r, err := Step(t, b, "m", ledger.Op{Want: 1}); err != nil || !r.Written {
		t.Fatalf("a gateway that knows nothing: %+v, %v", r, err)
	}
	a = store.Open(t, s.URL(), "a", knows)
	Refuses(t, a, 1000)
}

// OneTableLost wants that a table which is missing beside the others is made anew; and where it is that
// of the names, that nothing new is granted for a while, by a gateway that has never been here either.
func OneTableLost(t *testing.T, store Store, names string, others ...string) {
	t.Parallel()
	s := store.Start(t)
	a := store.Open(t, s.URL(), "a", Guard{On: true})
	Held(t, a, "before")
	for _, table := range others {
		store.Do(t, s, "DROP TABLE "+table)
		if r, err := Step(t, store.Open(t, s.URL(), "a", Guard{}), table, ledger.Op{Want: 1}); err != nil || !r.Written {
			t.Errorf("without %s: %+v, %v", table, r, err)
		}
		store.Do(t, s, "SELECT 1 FROM "+table)
	}
	lives := Granted(t, a, "n")
	began := time.Now()
	store.Do(t, s, "DROP TABLE "+names)
	b := store.Open(t, s.URL(), "b", Guard{On: true})
	var later *backend.Later
	if r, err := Settled(t, b, "n", ledger.Op{Want: 1}); !errors.As(err, &later) {
		t.Errorf("granted to another gateway: %+v, %v", r, err)
	}
	RefusesSince(t, began, a, lives)
}

// StateEmptied wants that a table of the state whose one row was deleted has it again: by the next locks, and
// for who only asks how the server is.
func StateEmptied(t *testing.T, store Store, state string) {
	t.Parallel()
	s := store.Start(t)
	a := store.Open(t, s.URL(), "a", Guard{On: true})
	a.Listen(func(ledger.Addressed) {})
	Held(t, a, "before")
	store.Do(t, s, "DELETE FROM "+state)
	Granted(t, a, "n")
	store.Do(t, s, "DELETE FROM "+state)
	Until(t, a, "")
	Granted(t, store.Open(t, s.URL(), "b", Guard{On: true}), "m")
}

// NoQuarantine wants that without a guard there is none.
func NoQuarantine(t *testing.T, store Store) {
	t.Parallel()
	s := store.Start(t)
	table := store.Open(t, s.URL(), "a", Guard{})
	Held(t, table, "n")
	s.Restart()
	Held(t, table, "m")
}

// MadeOnce wants that many gateways may meet an empty database at the same time; and that one of
// a layout that lockgw does not know, as newer makes it, is not used.
func MadeOnce(t *testing.T, store Store, newer string) {
	t.Parallel()
	s := store.Start(t)
	var wg sync.WaitGroup
	for i := range 12 {
		table := store.Open(t, s.URL()+"&pool_max_conns=2", fmt.Sprint("n", i), Guard{On: true})
		wg.Go(func() {
			if r, err := Step(t, table, fmt.Sprint("name", i), ledger.Op{Want: 1}); err != nil || !r.Written {
				t.Errorf("%d: %+v, %v", i, r, err)
			}
		})
	}
	wg.Wait()
	store.Do(t, s, newer)
	Wrong(t, store.Open(t, s.URL(), "old", Guard{}), "layout 2, and this lockgw knows 1")
}

// Liar wants that a database that lies about its writes from these statements on is found out
// before the first lock is granted.
func Liar(t *testing.T, store Store, statements ...string) {
	t.Parallel()
	s := store.Start(t)
	Held(t, store.Open(t, s.URL(), "a", Guard{}), "n")
	store.Do(t, s, statements...)
	Wrong(t, store.Open(t, s.URL(), "b", Guard{}), "compare-and-set does not work")
}

// Drops wants that who writes is told where, from these statements on, the database stores nothing new
// in a row that is there, and says nothing. So is who waits, and who is new.
func Drops(t *testing.T, store Store, statements ...string) {
	t.Parallel()
	s := store.Start(t)
	a, b := store.Open(t, s.URL(), "a", Guard{On: true}), store.Open(t, s.URL(), "b", Guard{On: true})
	id := Held(t, a, "n")
	Held(t, b, "m")
	store.Do(t, s, statements...)
	const want = "does not store what is written about n"
	if r, err := Step(t, a, "n", ledger.Op{Verb: ledger.Leave, Hold: id}); !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), want) {
		t.Errorf("given back: %+v, %v", r, err)
	}
	if errs, err := a.Renew(t.Context(), []ledger.Renewal{{Name: "n", ID: id, TTL: time.Hour}}); errors.Join(append(errs, err)...) == nil {
		t.Error("it says that a lease was renewed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if r, err := b.Join(ctx, "n", ledger.Entry{Node: "b", Want: 1}, 0); !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), want) {
		t.Errorf("joined: %+v, %v", r, err)
	}
	Wrong(t, store.Open(t, s.URL(), "c", Guard{}), "does not store what is written")
}
