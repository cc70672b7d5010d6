package postgres

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
	"github.com/lockgw/lockgw/backend/sqltable"
	"github.com/lockgw/lockgw/backend/sqltable/sqltest"
	"github.com/lockgw/lockgw/backend/tabletest"
)

// listening is open, with what the table is told.
func listening(t *testing.T, url, node string, with ...func(*Config)) (*Table, chan ledger.Addressed) {
	t.Helper()
	table := open(t, url, node, with...)
	told := make(chan ledger.Addressed, 100)
	table.Listen(func(m ledger.Addressed) { told <- m })
	return table, told
}

// A connection that dies before the gateway has ever listened does not keep it from that: no
// caller's deadline ends what is asked for it.
func TestDeadWhilePreparing(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	r := tabletest.NewRelay(t, s.Addr)
	r.Mute("SELECT layout FROM ")
	a, _ := listening(t, strings.Replace(s.URL(), s.Addr, r.Addr, 1), "a")
	sqltest.Until(t, a, "")
	if r.Muted() != 1 {
		t.Errorf("%d connections have died, want 1", r.Muted())
	}
}

// A connection for messages that is cut off is made anew, and what was missed is asked for.
func TestListenerIsCutOff(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	a, told := listening(t, s.URL(), "a")
	b, _ := listening(t, s.URL(), "b")
	sqltest.Until(t, a, "")
	sqltest.Hears(t, told, ledger.Resync)
	psql(t, s, fmt.Sprintf("SELECT pg_terminate_backend(%d)", a.listener.pid.Load()))
	sqltest.Hears(t, told, ledger.Resync)
	sqltest.Until(t, a, "")
	if err := b.Send(t.Context(), []ledger.Addressed{{Name: "n", Message: ledger.Message{Node: "a", Kind: ledger.Waits}}}); err != nil {
		t.Fatal(err)
	}
	sqltest.Hears(t, told, ledger.Waits)
}

// One over which nothing comes any more, although it stands, is noticed by that; and however
// often it breaks, the next one does not wait for longer.
func TestListenerIsSilent(t *testing.T) {
	t.Parallel()
	if silence+sqltable.Relisten > 5*time.Second {
		t.Errorf("a lost message may cost %v before anybody notices", silence+sqltable.Relisten)
	}
	s := pgtest.Start(t)
	a, told := listening(t, s.URL(), "a")
	sqltest.Until(t, a, "")
	sqltest.Hears(t, told, ledger.Resync)
	pid := int(a.listener.pid.Load())
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pid, syscall.SIGCONT)
	sqltest.Hears(t, told, ledger.Resync)
	silent := a.ProbeAge()
	sqltest.Until(t, a, "")
	if age := a.ProbeAge(); silent < silence-sqltable.BeatPeriod || age >= silent {
		t.Errorf("the last message came %v ago when nothing had been heard for %v, and %v ago when messages came again", silent, silence, age)
	}
	least := time.Hour
	for n := range 8 {
		cut := time.Now()
		psql(t, s, fmt.Sprintf("SELECT pg_terminate_backend(%d)", a.listener.pid.Load()))
		sqltest.Hears(t, told, ledger.Resync)
		if n >= 4 {
			least = min(least, time.Since(cut))
		}
	}
	if least > 3*time.Second {
		t.Errorf("a connection that has broken often is made anew after %v at the earliest", least)
	}
}

// Where the server takes no messages, as while its queue of them is full, that is told, and not that
// they are lost.
func TestNoMessageIsTaken(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	psql(t, s, `CREATE SCHEMA full_queue; CREATE FUNCTION full_queue.pg_notify(text, text) RETURNS void LANGUAGE plpgsql AS
		$$ BEGIN RAISE 'too many notifications in the NOTIFY queue' USING ERRCODE = '54000'; END $$`)
	psql(t, s, "ALTER ROLE CURRENT_USER SET search_path = full_queue, pg_catalog")
	a, _ := listening(t, s.URL(), "a")
	sqltest.Until(t, a, "cannot send a message to itself: ")
	sqltest.Until(t, a, "too many notifications in the NOTIFY queue")
	psql(t, s, "DROP FUNCTION pg_notify(text, text)")
	sqltest.Until(t, a, "")
}

// A server that ends sessions which ask for nothing does not end the one that listens.
func TestListenerIsNotIdle(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	needs14(t, s, "end idle sessions")
	s.Set("idle_session_timeout=1s")
	s.Restart()
	a, _ := listening(t, s.URL(), "a")
	sqltest.Until(t, a, "")
	pid := a.listener.pid.Load()
	sqltest.Pause(t, 3*time.Second)
	if now := a.listener.pid.Load(); now != pid {
		t.Errorf("it listened by backend %d, and does by %d", pid, now)
	}
}

// Nor those by which requests go, however soon it would: what is sent over one that was ended has no
// answer.
func TestPoolIsNotIdle(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	needs14(t, s, "end idle sessions")
	s.Set("idle_session_timeout=200ms")
	s.Restart()
	a := open(t, s.URL(), "a")
	sqltest.Held(t, a, "n")
	sqltest.Pause(t, 500*time.Millisecond)
	if _, err := a.Look(t.Context(), "n"); err != nil {
		t.Errorf("after a moment without a request: %v", err)
	}
}

func psql(t *testing.T, s *pgtest.Server, sql string) {
	t.Helper()
	carryOut(t, connect(t, s.URL()), sql)
}

// A message brings the record, unless that does not fit.
func TestMessageBringsTheRecord(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	a, _ := listening(t, s.URL(), "a")
	b, told := listening(t, s.URL(), "b")
	sqltest.Until(t, b, "")
	for name, about := range map[string]string{"small": "x", "large": strings.Repeat("x", 9000)} {
		held := ledger.Op{Want: 1}
		r, err := sqltest.Step(t, a, name, held)
		if err != nil || !r.Written {
			t.Fatal(r, err)
		}
		if _, err := b.Join(t.Context(), name, ledger.Entry{Node: "b", Want: 1}, 0); err != nil {
			t.Fatal(err)
		}
		seen, err := a.Look(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		next, effects := ledger.Step(seen.Record, ledger.Op{Verb: ledger.Leave, Node: "a", Hold: r.Record.Firm("a").ID, Turns: 1, OfferTTL: time.Second, TTL: time.Second}, 0)
		next.Holds[0].Callers = []ledger.Caller{{About: about}}
		if r, err = a.Swap(t.Context(), ledger.Swap{Name: name, Base: seen.Version, Record: next, Effects: effects}); err != nil || !r.Written {
			t.Fatal(r, err)
		}
		m := sqltest.Hears(t, told, ledger.Look)
		if m.Name != name || (m.Reply != nil) != (name == "small") {
			t.Errorf("%s: heard %+v", name, m)
		}
		if m.Reply != nil && (m.Reply.Version != r.Version || !m.Reply.Record.Same(&r.Record)) {
			t.Errorf("the message brings %+v, written was %+v", m.Reply, r)
		}
	}
}

// pgbouncer starts a pooler before the server, with more settings, and returns its address.
func pgbouncer(t *testing.T, s *pgtest.Server, mode string, more ...string) string {
	t.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		path = "/usr/sbin/pgbouncer"
	}
	host, port, _ := net.SplitHostPort(s.Addr)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_, own, _ := net.SplitHostPort(addr)
	l.Close()
	users, ini := filepath.Join(s.Dir(), mode+"-users"), filepath.Join(s.Dir(), mode+".ini")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.Own(path)
	}
	write(users, `"postgres" ""`)
	write(ini, fmt.Sprintf("[databases]\n* = host=%s port=%s\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\nunix_socket_dir =\nauth_type = trust\nauth_file = %s\npool_mode = %s\n%s\n", host, port, own, users, mode, strings.Join(more, "\n")))
	cmd := s.Command(path, ini)
	if err := cmd.Start(); err != nil {
		t.Fatalf("these tests need pgbouncer (apt-get install pgbouncer): %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for end := time.Now().Add(time.Minute); ; sqltest.Pause(t, 10*time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			return "postgres://postgres@" + addr + "/postgres?sslmode=disable"
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// Through a pooler no messages arrive. It is found, and one has to say how to get around it.
func TestPooler(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t, serializable)
	pooled := pgbouncer(t, s, "transaction")
	a, _ := listening(t, pooled, "a")
	sqltest.Until(t, a, "backend.postgres.listen_url")
	if _, err := sqltest.Step(t, a, "n", ledger.Op{Want: 1}); !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "pooler") {
		t.Errorf("granted without messages: %v", err)
	}
	direct := func(c *Config) { c.ListenURL = s.URL() }
	b, told := listening(t, pooled, "b", direct)
	sqltest.Until(t, b, "")
	r, err := sqltest.Step(t, b, "n", ledger.Op{Want: 1})
	if err != nil || r.Record.Firm("b") == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if got, err := b.requests.send(t.Context(), newStatement("SHOW transaction_isolation")); err != nil || string(got[0][0][0]) != "read committed" {
		t.Errorf("through a pooler the isolation is %s, %v", got, err)
	}
	for range 20 { // by one server connection, and by another
		if errs, err := b.Renew(t.Context(), []ledger.Renewal{{Name: "n", ID: r.Record.Firm("b").ID, TTL: time.Minute}}); err != nil || errs[0] != nil {
			t.Fatal(errs, err)
		}
	}
	if _, err := a.Join(t.Context(), "n", ledger.Entry{Node: "a", Want: 1}, 0); !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "pooler") {
		t.Errorf("waits for what it is not granted: %v", err)
	}
	c, _ := listening(t, pooled, "c", direct)
	if _, err := c.Join(t.Context(), "n", ledger.Entry{Node: "c", Want: 1}, 0); err != nil {
		t.Fatal(err)
	}
	sqltest.Hears(t, told, ledger.Waits)
}

// A server that stands still is noticed, and so is that it goes on.
func TestPause(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	a, _ := listening(t, s.URL(), "a", guarded)
	sqltest.Until(t, a, "")
	sqltest.StandsStill(t, a, s)
}
