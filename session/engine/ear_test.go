package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/backend/mysql"
	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
	"github.com/lockgw/lockgw/backend/postgres"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/backend/tabletest"
)

// patient has a gateway give up no connection to a Redis that is late on a loaded machine: there is
// no other then.
const patient = "?read_timeout=2s"

// A gateway for whose messages the server has no connection left is served in its turn, while two others
// pass the name on; and hears again when there is one.
func TestDeafIsServed(t *testing.T) {
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		s := pgtest.Start(t, "max_connections=20")
		t.Cleanup(pgtest.RemoveTemplate)
		deafIsServed(t, func(node string) ledger.Table {
			return must(postgres.OpenTable(postgres.Config{URL: s.URL() + "&pool_max_conns=4", Node: backend.Node{ID: node}}))(t)
		}, func() (free func()) { return fillPostgres(t, s) })
	})
	t.Run("MySQL", func(t *testing.T) {
		t.Parallel()
		s := mysqltest.Start(t, "--max-connections=20")
		t.Cleanup(mysqltest.RemoveTemplate)
		deafIsServed(t, func(node string) ledger.Table {
			return must(mysql.OpenTable(mysql.Config{URL: s.URL() + "&pool_max_conns=4", Node: backend.Node{ID: node}}))(t)
		}, func() (free func()) { return fillMySQL(t, s) })
	})
	t.Run("Redis", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		deafIsServed(t, func(node string) ledger.Table {
			return must(redis.OpenTable(redis.Config{URL: s.URL() + patient, Node: backend.Node{ID: node}, Guard: redis.GuardNone}))(t)
		}, func() (free func()) {
			rdb := s.Client()
			limit := func(n int) {
				if err := rdb.ConfigSet(t.Context(), "maxclients", strconv.Itoa(n)).Err(); err != nil {
					t.Fatal(err)
				}
			}
			limit(1)
			return func() { limit(1000) }
		})
	})
}

// So is one whose connection for messages is answered nothing, as by a proxy that has taken as many as
// it serves.
func TestDeafIsServedWhereNothingAnswers(t *testing.T) {
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		s := pgtest.Start(t)
		t.Cleanup(pgtest.RemoveTemplate)
		deafBehindRelay(t, s.Addr, func(addr, node string) ledger.Table {
			url := strings.Replace(s.URL(), s.Addr, addr, 1)
			return must(postgres.OpenTable(postgres.Config{URL: url, Node: backend.Node{ID: node}}))(t)
		})
	})
	t.Run("MySQL", func(t *testing.T) {
		t.Parallel()
		s := mysqltest.Start(t)
		t.Cleanup(mysqltest.RemoveTemplate)
		deafBehindRelay(t, s.Addr, func(addr, node string) ledger.Table {
			url := strings.Replace(s.URL(), s.Addr, addr, 1)
			return must(mysql.OpenTable(mysql.Config{URL: url, Node: backend.Node{ID: node}}))(t)
		})
	})
	t.Run("Redis", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		deafBehindRelay(t, s.Addr, func(addr, node string) ledger.Table {
			return must(redis.OpenTable(redis.Config{URL: "redis://" + addr + patient, Node: backend.Node{ID: node}, Guard: redis.GuardNone}))(t)
		})
	})
}

// deafBehindRelay has gateway c alone behind a relay, which answers nothing on its next connections.
func deafBehindRelay(t *testing.T, server string, table func(addr, node string) ledger.Table) {
	t.Helper()
	relay := tabletest.NewRelay(t, server)
	deafIsServed(t, func(node string) ledger.Table {
		if node == "c" {
			return table(relay.Addr, node)
		}
		return table(server, node)
	}, func() (free func()) {
		relay.Swallow(true)
		return func() { relay.Swallow(false) }
	})
}

func must[T any](table T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
}

// deafIsServed fills the server when all gateways have connections for requests.
func deafIsServed(t *testing.T, table func(node string) ledger.Table, fill func() (free func())) {
	t.Helper()
	begin := func(of ledger.Table) *gateway {
		cfg := config(of.Node())
		cfg.Offer, cfg.Timeout = time.Second, time.Minute // one without an answer would cost its connection
		g := open(of, cfg, nil)
		t.Cleanup(func() {
			g.Abandon()
			_ = of.Close()
		})
		return g
	}
	c := table("c")
	others := []*gateway{begin(table("a")), begin(table("b"))}
	for end := time.Now().Add(time.Minute); others[0].table.Ping(t.Context()) != nil || others[1].table.Ping(t.Context()) != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the others do not hear")
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var users sync.WaitGroup
	defer users.Wait()
	defer stop()
	for _, g := range others {
		users.Go(func() { g.uses(ctx, "n") })
	}
	_ = c.Ping(t.Context())
	var looks sync.WaitGroup
	for range 10 { // side by side, so that there is another connection if one breaks
		looks.Go(func() {
			if _, err := c.Look(t.Context(), "n"); err != nil {
				t.Error(err)
			}
		})
	}
	looks.Wait()
	free := fill()
	deaf := begin(c)
	for range 3 {
		w := caller("deaf")
		w.TTL = 30 * time.Second
		deaf.enter(t, "n", w)
		select {
		case <-deaf.wake(w):
		case <-time.After(time.Minute):
			_, err := c.Look(t.Context(), "n")
			t.Fatalf("who is deaf is not served within a minute; a look: %v", err)
		}
		if !deaf.Find("n").Accept(w) {
			t.Fatal("not held")
		}
		renews(t, c, "n")
		deaf.Find("n").Release(w).Do(t.Context())
	}
	if err := c.Ping(t.Context()); err == nil {
		t.Error("it was not deaf")
	}
	free()
	for end := time.Now().Add(time.Minute); c.Ping(t.Context()) != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not hear again")
		}
	}
}

func fillPostgres(t *testing.T, s *pgtest.Server) (free func()) {
	var all []*pgconn.PgConn
	free = func() {
		for _, c := range all {
			_ = c.Close(context.Background())
		}
	}
	for {
		c, err := pgconn.Connect(t.Context(), s.URL())
		var full *pgconn.PgError
		switch {
		case errors.As(err, &full) && full.Code == "53300":
			return free
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, c)
	}
}

func fillMySQL(t *testing.T, s *mysqltest.Server) (free func()) {
	db, err := sql.Open("mysql", "root@tcp("+s.Addr+")/")
	if err != nil {
		t.Fatal(err)
	}
	var all []*sql.Conn
	for {
		c, err := db.Conn(t.Context())
		if err != nil {
			break
		}
		all = append(all, c)
	}
	return func() {
		for _, c := range all {
			_ = c.Close()
		}
		_ = db.Close()
	}
}

// deafTable says what a store says of its messages.
type deafTable struct {
	*counted
	tell func(ledger.Addressed)
}

func (d *deafTable) Listen(f func(ledger.Addressed)) {
	d.tell = f
	d.counted.Listen(func(m ledger.Addressed) { // none arrives
		if m.Kind == ledger.Resync {
			f(m)
		}
	})
}

func (d *deafTable) says(k ledger.Kind) {
	d.tell(ledger.Addressed{Message: ledger.Message{Node: d.Node(), Kind: k}})
}

// While no messages arrive a gateway asks about names of which one may tell something, and no
// others; and no more when they do again, or when nobody has said for long that they do not.
func TestDeafAsks(t *testing.T) {
	for _, expires := range []bool{false, true} {
		rows := memory.NewRows()
		other, _ := start(t, rows, "other", nil)
		d := &deafTable{counted: &counted{Table: memory.OpenTable(rows, "deaf")}}
		cfg := config("deaf")
		var ahead atomic.Int64
		cfg.Clock = func() time.Duration { return boottime.Now() + time.Duration(ahead.Load()) }
		g := open(d, cfg, nil)
		t.Cleanup(func() {
			g.Abandon()
			_ = d.Close()
		})
		holds := caller("holds")
		holds.TTL = time.Hour
		g.hold(t, "alone", holds)
		d.says(ledger.Deaf)
		sleep := func() int64 {
			before := d.requests.Load()
			time.Sleep(1100 * time.Millisecond)
			return d.requests.Load() - before
		}
		if n := sleep(); n > 0 {
			t.Errorf("%d requests about a name that one caller has alone, want none", n)
		}
		first := caller("first")
		first.TTL = time.Hour
		other.hold(t, "n", first)
		waits := caller("waits")
		waits.TTL = time.Hour
		g.enter(t, "n", waits)
		for before, end := d.requests.Load(), time.Now().Add(time.Minute); d.requests.Load() < before+2; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("nothing is asked about a name that is waited for")
			}
		}
		if expires {
			ahead.Store(int64(ledger.DeafFor))
		} else {
			d.says(ledger.Resync)
		}
		sleep()
		if n := sleep(); n > 0 {
			t.Errorf("%d requests while messages arrive, want none", n)
		}
	}
}
