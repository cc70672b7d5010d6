package mysql

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
	"github.com/lockgw/lockgw/backend/sqltable"
	"github.com/lockgw/lockgw/backend/sqltable/sqltest"
	"github.com/lockgw/lockgw/backend/tabletest"
)

func contains(err error, text string) bool { return strings.Contains(err.Error(), text) }

// listening is open, with what the table is told.
func listening(t *testing.T, url, node string, with ...func(*Config)) (*Table, chan ledger.Addressed) {
	t.Helper()
	table := open(t, url, node, with...)
	return table, listen(table)
}

func listen(table *Table) chan ledger.Addressed {
	told := make(chan ledger.Addressed, 1000)
	table.Listen(func(m ledger.Addressed) { told <- m })
	return told
}

func waitsFor(node string) []ledger.Addressed {
	return []ledger.Addressed{{Name: "n", Message: ledger.Message{Node: node, Kind: ledger.Waits}}}
}

// Somebody who sleeps in the database is woken, again and again: no message is lost between
// two sleeps, and none waits for the end of one, which does not come here. MariaDB
// 10.11 crashed where the statement that fetches them had to sort.
func TestWakeUp(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a := open(t, s.URL(), "a")
	a.sleeper.asleep, a.Beats = time.Hour, time.Hour
	told := listen(a)
	sqltest.Until(t, a, "")
	b := open(t, s.URL(), "b")
	for range 300 {
		if err := b.Send(t.Context(), waitsFor("a")); err != nil {
			t.Fatal(err)
		}
		sqltest.Hears(t, told, ledger.Waits)
	}
}

// A connection for messages that is cut off is made anew, and what was missed is asked for.
func TestSleeperIsCutOff(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a, told := listening(t, s.URL(), "a")
	b, _ := listening(t, s.URL(), "b")
	sqltest.Until(t, a, "")
	sqltest.Hears(t, told, ledger.Resync)
	sql(t, s, fmt.Sprintf("KILL CONNECTION %d", a.sleeper.place.Load().thread))
	sqltest.Hears(t, told, ledger.Resync)
	sqltest.Until(t, a, "")
	if err := b.Send(t.Context(), waitsFor("a")); err != nil {
		t.Fatal(err)
	}
	sqltest.Hears(t, told, ledger.Waits)
}

// Where nobody can wake the gateway, as through a proxy with other numbers for connections, it
// looks for its messages by itself, and says so; and nobody takes it for dead.
func TestPolls(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	proxy := tabletest.NewRelay(t, s.Addr)
	proxy.Lie("CONNECTION_ID()", "1099511627776  ")
	a, told := listening(t, through(proxy, s), "a", guarded)
	sqltest.Until(t, a, "KILL QUERY does not reach")
	if err := a.Ping(t.Context()); !errors.Is(err, backend.ErrPartly) {
		t.Errorf("ping = %v, want %v", err, backend.ErrPartly)
	}
	if got := sql(t, s, "SELECT thread FROM locks.lockgw_nodes"); len(got) != 1 || string(got[0][0]) != "0" {
		t.Errorf("the others know %v, want that nobody can wake it", got)
	}
	sqltest.Hears(t, told, ledger.Resync)
	b := open(t, s.URL(), "b")
	for range 20 {
		id := sqltest.Held(t, b, "n")
		if _, err := a.Join(t.Context(), "n", ledger.Entry{Node: "a", Want: 1}, 0); err != nil {
			t.Fatal(err)
		}
		r, err := sqltest.Step(t, b, "n", ledger.Op{Verb: ledger.Leave, Hold: id, OfferTTL: time.Minute, TTL: time.Minute})
		if err != nil || !r.Written || len(r.Unheard) > 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		sqltest.Hears(t, told, ledger.Look)
		if _, err := sqltest.Step(t, a, "n", ledger.Op{Verb: ledger.Leave}); err != nil {
			t.Fatal(err)
		}
	}
	if got := sql(t, s, "SELECT 1 FROM information_schema.PROCESSLIST WHERE info LIKE '%GET_LOCK(''lockgw.1099511627776%'"); len(got) > 0 {
		t.Error("it sleeps in the database")
	}
}

// A gateway that does not sleep, as it waits for what it has mail about, is not one that nobody
// can wake.
func TestBusyIsNotDeaf(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	r := tabletest.NewRelay(t, s.Addr)
	a, _ := listening(t, through(r, s), "a")
	sqltest.Until(t, a, "")
	r.Mute("SELECT m.id") // with which it asks for its mail, and waits
	for end := time.Now().Add(time.Minute); ; sqltest.Pause(t, 10*time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is not busy for long enough")
		}
		at := a.sleeper.place.Load()
		if at == nil || at.naps.Load()%2 == 1 || r.Muted() == 0 {
			continue
		}
		woken, slept := false, false
		err := a.requests.with(t.Context(), func(c *conn) error {
			woken, slept = a.sleeper.wakes(t.Context(), c, at)
			return nil
		})
		if a.sleeper.place.Load() != at { // it listens elsewhere, for it had no answer for seconds
			continue
		}
		if err != nil || woken || slept || at.polls.Load() {
			t.Errorf("woken %v, slept %v, polls %v: %v", woken, slept, at.polls.Load(), err)
		}
		return
	}
}

// through is the address of a database of s behind r.
func through(r *tabletest.Relay, s *mysqltest.Server) string {
	return strings.Replace(s.URL(), s.Addr, r.Addr, 1)
}

// A connection that dies while messages are deleted which were heard costs no further one.
func TestDeadWhileCleaning(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	r := tabletest.NewRelay(t, s.Addr)
	a, told := listening(t, through(r, s), "a")
	sqltest.Until(t, a, "")
	b := open(t, s.URL(), "b")
	r.Mute("DELETE FROM lockgw_mail")
	for range 2 * fetchedMost / 50 {
		if err := b.Send(t.Context(), slices.Repeat(waitsFor("a"), 50)); err != nil {
			t.Fatal(err)
		}
		for range 50 {
			sqltest.Hears(t, told, ledger.Waits)
		}
	}
	if r.Muted() != 1 {
		t.Errorf("%d connections have died, want 1", r.Muted())
	}
}

// So does one that dies before the gateway has ever listened: no caller's deadline ends what is
// asked for that.
func TestDeadWhilePreparing(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	r := tabletest.NewRelay(t, s.Addr)
	r.Mute(layoutSQL)
	a, _ := listening(t, through(r, s), "a")
	sqltest.Until(t, a, "")
	if r.Muted() != 1 {
		t.Errorf("%d connections have died, want 1", r.Muted())
	}
}

// A sign of life that arrives late does not have the others look for the node where it slept
// before; and that of a process that begins to count anew does.
func TestLateSign(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a, told := listening(t, s.URL(), "a")
	sqltest.Until(t, a, "")
	sqltest.Hears(t, told, ledger.Resync)
	old := a.sleeper.place.Load()
	n, _ := a.sleeper.signs.number(old)
	sql(t, s, fmt.Sprintf("KILL CONNECTION %d", old.thread))
	sqltest.Hears(t, told, ledger.Resync)
	sqltest.Until(t, a, "")
	known := func(who *Table) {
		t.Helper()
		want := fmt.Sprint(who.sleeper.place.Load().thread)
		if got := sql(t, s, "SELECT thread FROM locks.lockgw_nodes"); len(got) != 1 || string(got[0][0]) != want {
			t.Errorf("the node sleeps at %s, and is known to do so at %v", want, got)
		}
	}
	known(a)
	err := a.requests.with(t.Context(), func(c *conn) error {
		node, server := []byte("a"), []byte(old.identity)
		if _, _, err := c.exec(t.Context(), hearSQL, node, server, int64(old.thread), n, n, server, n, int64(old.thread), n, n); err != nil {
			return err
		}
		return a.sleeper.announce(t.Context(), c, old)
	})
	if err != nil {
		t.Fatal(err)
	}
	known(a)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	sql(t, s, "UPDATE locks.lockgw_nodes SET beats = 1000000")
	b, told := listening(t, s.URL(), "a")
	sqltest.Hears(t, told, ledger.Resync)
	known(b)
}

// A server that stops taking writes, as in a planned switchover, keeps its connections. A gateway
// that sleeps there moves to the one that takes them, where the others look for it.
func TestSleepsWhereWritesGo(t *testing.T) {
	t.Parallel()
	first, second := mysqltest.Start(t), mysqltest.Start(t)
	for _, s := range []*mysqltest.Server{first, second} {
		sql(t, s, "CREATE USER locker@'%'", "GRANT ALL ON locks.* TO locker@'%'")
	}
	sql(t, second, "SET GLOBAL read_only = 1")
	a, told := listening(t, strings.Replace(first.At("locker", "locks"), first.Addr, first.Addr+","+second.Addr, 1), "a")
	sqltest.Until(t, a, "")
	sqltest.Hears(t, told, ledger.Resync)
	sql(t, first, "SET GLOBAL read_only = 1")
	sql(t, second, "SET GLOBAL read_only = 0")
	id := sqltest.Held(t, a, "n")
	sqltest.Hears(t, told, ledger.Resync)
	b, _ := listening(t, second.At("locker", "locks"), "b")
	if _, err := b.Join(t.Context(), "n", ledger.Entry{Node: "b", Want: 1}, 0); err != nil {
		t.Fatal(err)
	}
	sqltest.Hears(t, told, ledger.Waits)
	if _, err := sqltest.Step(t, a, "n", ledger.Op{Verb: ledger.Leave, Hold: id}); err != nil {
		t.Fatal(err)
	}
	held := sqltest.Held(t, b, "m")
	if _, err := a.Join(t.Context(), "m", ledger.Entry{Node: "a", Want: 1}, 0); err != nil {
		t.Fatal(err)
	}
	if r, err := sqltest.Step(t, b, "m", ledger.Op{Verb: ledger.Leave, Hold: held}); err != nil || !r.Written || len(r.Unheard) > 0 {
		t.Errorf("the name is offered to who does not hear: %+v, %v", r, err)
	}
}

// A message brings the record as it is.
func TestMessageBringsTheRecord(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a, _ := listening(t, s.URL(), "a")
	b, told := listening(t, s.URL(), "b")
	sqltest.Until(t, b, "")
	id := sqltest.Held(t, a, "n")
	if _, err := b.Join(t.Context(), "n", ledger.Entry{Node: "b", Want: 1}, 0); err != nil {
		t.Fatal(err)
	}
	r, err := sqltest.Step(t, a, "n", ledger.Op{Verb: ledger.Leave, Hold: id, OfferTTL: 20 * time.Second, TTL: time.Minute})
	if err != nil || !r.Written {
		t.Fatal(r, err)
	}
	if m := sqltest.Hears(t, told, ledger.Look); m.Name != "n" || m.Reply == nil || m.Reply.Version != r.Version || !m.Reply.Record.Same(&r.Record) {
		t.Errorf("the message brings %+v, written was %+v", m, r)
	}
}

// Messages are deleted once they were heard, and those that nobody hears after a while.
func TestMailIsDeleted(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a, told := listening(t, s.URL(), "a")
	if err := a.Send(t.Context(), append(waitsFor("a"), waitsFor("nobody")...)); err != nil {
		t.Fatal(err)
	}
	sqltest.Hears(t, told, ledger.Waits)
	left := func() int { return len(sql(t, s, "SELECT 1 FROM locks.lockgw_mail")) }
	for end := time.Now().Add(time.Minute); left() != 1; sqltest.Pause(t, 20*time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("there are %d messages, want that to nobody", left())
		}
	}
	sql(t, s, "UPDATE locks.lockgw_mail SET sent = sent - 61000000")
	if err := a.sweep(t.Context(), sqltable.Unused); err != nil {
		t.Fatal(err)
	}
	if n := left(); n != 0 {
		t.Errorf("%d messages are left", n)
	}
}

// A server that stands still is noticed, and so is that it goes on.
func TestPause(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a, _ := listening(t, s.URL(), "a", guarded)
	sqltest.Until(t, a, "")
	sqltest.StandsStill(t, a, s)
}
