package mysql

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
)

func contains(err error, text string) bool { return strings.Contains(err.Error(), text) }

// listening is open, with what the table is told.
func listening(t *testing.T, url, node string, with ...func(*Config)) (*Table, chan ledger.Addressed) {
	t.Helper()
	table := open(t, url, node, with...)
	told := make(chan ledger.Addressed, 1000)
	table.Listen(func(m ledger.Addressed) { told <- m })
	return table, told
}

func hears(t *testing.T, told chan ledger.Addressed, k ledger.Kind) ledger.Addressed {
	t.Helper()
	end := time.After(40 * time.Second)
	for {
		select {
		case m := <-told:
			if m.Kind == k {
				return m
			}
		case <-end:
			t.Fatalf("kind %d was not heard", k)
		}
	}
}

// until asks until Ping says what is wanted; "": that all is well.
func until(t *testing.T, table *Table, want string) {
	t.Helper()
	var err error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); pause(t, 10*time.Millisecond) {
		err = table.Ping(t.Context())
		if want == "" && err == nil || want != "" && err != nil && contains(err, want) {
			return
		}
	}
	t.Fatalf("ping = %v, want %q", err, want)
}

func waits(node string) []ledger.Addressed {
	return []ledger.Addressed{{Name: "n", Message: ledger.Message{Node: node, Kind: ledger.Waits}}}
}

// Somebody who sleeps in the database is woken, again and again: no message is lost between
// two sleeps, and none waits for the end of one. MariaDB
// 10.11 crashed where the statement that fetches them had to sort.
func TestWakeUp(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	_, told := listening(t, s.URL(), "a")
	a := hears(t, told, ledger.Resync)
	b := open(t, s.URL(), "b")
	began := time.Now()
	const each = 300
	for range each {
		if err := b.Send(t.Context(), waits(a.Node)); err != nil {
			t.Fatal(err)
		}
		hears(t, told, ledger.Waits)
	}
	if took := time.Since(began); took > each*asleep/5 {
		t.Errorf("%d messages took %v: the sleeps were not ended", each, took)
	}
}

// A connection for messages that is cut off is made anew, and what was missed is asked for.
func TestSleeperIsCutOff(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a, told := listening(t, s.URL(), "a")
	b, _ := listening(t, s.URL(), "b")
	until(t, a, "")
	hears(t, told, ledger.Resync)
	sql(t, s, fmt.Sprintf("KILL CONNECTION %d", a.sleeper.place.Load().thread))
	hears(t, told, ledger.Resync)
	until(t, a, "")
	if err := b.Send(t.Context(), waits("a")); err != nil {
		t.Fatal(err)
	}
	hears(t, told, ledger.Waits)
}

// Where nobody can wake the gateway, as through a proxy with other numbers for connections, it
// looks for its messages by itself, and says so.
func TestPolls(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a, told := listening(t, s.URL(), "a", guarded)
	until(t, a, "")
	at := *a.sleeper.place.Load()
	at.thread = 1 << 40
	a.sleeper.place.Store(&at)
	a.sleeper.BeatNow()
	until(t, a, "KILL QUERY does not reach")
	if err := a.Ping(t.Context()); !errors.Is(err, backend.ErrPartly) {
		t.Errorf("ping = %v, want %v", err, backend.ErrPartly)
	}
	hears(t, told, ledger.Resync)
	b := open(t, s.URL(), "b")
	began := time.Now()
	for range 50 {
		r, err := step(t, b, "n", ledger.Op{Want: 1})
		if err != nil || !r.Written || len(r.Unheard) > 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		if err := b.Send(t.Context(), waits("a")); err != nil {
			t.Fatal(err)
		}
		hears(t, told, ledger.Waits)
		if _, err := step(t, b, "n", ledger.Op{Verb: ledger.Leave, Hold: r.Record.Firm("b").ID}); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); took > 50*asleep/3 {
		t.Errorf("50 messages took %v", took)
	}
}

// A message brings the record as it is.
func TestMessageBringsTheRecord(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a, _ := listening(t, s.URL(), "a")
	b, told := listening(t, s.URL(), "b")
	until(t, b, "")
	id := held(t, a, "n")
	if _, err := b.Join(t.Context(), "n", ledger.Entry{Node: "b", Want: 1}, 0); err != nil {
		t.Fatal(err)
	}
	r, err := step(t, a, "n", ledger.Op{Verb: ledger.Leave, Hold: id, OfferTTL: 20 * time.Second, TTL: time.Minute})
	if err != nil || !r.Written {
		t.Fatal(r, err)
	}
	if m := hears(t, told, ledger.Look); m.Name != "n" || m.Reply == nil || m.Reply.Version != r.Version || !m.Reply.Record.Same(&r.Record) {
		t.Errorf("the message brings %+v, written was %+v", m, r)
	}
}

// Messages are deleted once they were heard, and those that nobody hears after a while.
func TestMailIsDeleted(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a, told := listening(t, s.URL(), "a")
	if err := a.Send(t.Context(), append(waits("a"), waits("nobody")...)); err != nil {
		t.Fatal(err)
	}
	hears(t, told, ledger.Waits)
	left := func() int { return len(sql(t, s, "SELECT 1 FROM locks.lockgw_mail")) }
	for end := time.Now().Add(20 * time.Second); left() != 1; pause(t, 20*time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("there are %d messages, want that to nobody", left())
		}
	}
	sql(t, s, "UPDATE locks.lockgw_mail SET sent = sent - 61000000")
	if err := a.sweep(t.Context(), unused); err != nil {
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
	until(t, a, "")
	id := held(t, a, "n")
	s.Pause()
	defer s.Resume()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := a.Swap(ctx, ledger.Swap{Name: "m", Record: ledger.Record{Top: 1}, Absolute: true})
	if !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, backend.ErrRefused) || time.Since(began) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	s.Resume()
	for end := time.Now().Add(20 * time.Second); ; pause(t, 20*time.Millisecond) {
		errs, err := a.Renew(t.Context(), []ledger.Renewal{{Name: "n", ID: id, TTL: time.Minute}})
		if err == nil && errs[0] == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(errs, err)
		}
	}
}
