package eager

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// pair is a connection that looks for so long, and its other end.
func pair(t *testing.T, most time.Duration) (c *conn, other net.Conn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialed, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialed.Close(); other.Close() })
	c, ok := Client(dialed).(*conn)
	if !ok {
		t.Fatal("a socket is not looked at")
	}
	c.most, c.with = most, 0 // as if it had been read alone
	return c, other
}

type read struct {
	text string
	err  error
}

// reading is what one read of c comes to.
func reading(c net.Conn) <-chan read {
	done := make(chan read, 1)
	go func() {
		b := make([]byte, 16)
		n, err := c.Read(b)
		done <- read{string(b[:n]), err}
	}()
	return done
}

func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for until := time.Now().Add(10 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("not yet: %s", what)
		}
	}
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Error(err)
	}
}

func TestRead(t *testing.T) {
	for name, most := range map[string]time.Duration{"found": time.Minute, "slept for": 0} {
		t.Run(name, func(t *testing.T) {
			c, other := pair(t, most)
			send(t, other, "at once")
			if r := <-reading(c); r != (read{"at once", nil}) {
				t.Errorf("what was there: %+v", r)
			}
			later := reading(c)
			await(t, "the read looks or sleeps", func() bool { return looking.Load() == (most > 0) })
			send(t, other, "later")
			if r := <-later; r != (read{"later", nil}) {
				t.Errorf("what came later: %+v", r)
			}
			other.Close()
			if r := <-reading(c); r != (read{"", io.EOF}) {
				t.Errorf("at the end: %+v", r)
			}
			c.Close()
			if r := <-reading(c); !errors.Is(r.err, net.ErrClosed) {
				t.Errorf("after Close: %+v", r)
			}
		})
	}
}

func TestDeadline(t *testing.T) {
	c, _ := pair(t, 0)
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // as it passes, and when it has
		if r := <-reading(c); !errors.Is(r.err, os.ErrDeadlineExceeded) {
			t.Errorf("%+v", r)
		}
	}
}

// A read that looked in vain spares the next ones of its connection, and each more that
// does so twice as many. One for which it was worth it makes up for half of that.
func TestInVain(t *testing.T) {
	c, other := pair(t, 0)
	looked := func() {
		for c.skip > 0 {
			if n := c.eagerly(make([]byte, 1)); n != 0 {
				t.Fatalf("%d bytes out of nothing", n)
			}
		}
		if n := c.eagerly(make([]byte, 1)); n != 0 {
			t.Fatalf("%d bytes out of nothing", n)
		}
	}
	for _, want := range []int{1, 3, 7, 15, 31, 63, 63} {
		if looked(); c.skips != want || c.skip != want {
			t.Fatalf("%d and %d reads are spared, want %d", c.skips, c.skip, want)
		}
	}
	c.skip, c.most = 0, time.Minute
	send(t, other, "a")
	if r := <-reading(c); r.text != "a" || c.skips != 63 {
		t.Errorf("%+v, and %d reads are spared: what was there already is no reason to look", r, c.skips)
	}
	later := reading(c)
	await(t, "it looks", looking.Load)
	send(t, other, "b")
	if r := <-later; r.text != "b" || c.skips != 31 || c.skip != 0 {
		t.Errorf("%+v, and %d reads are spared, %d now", r, c.skips, c.skip)
	}
}

// Nobody looks while another one does, or goes on when another one has something to do.
func TestOneLooks(t *testing.T) {
	c, other := pair(t, time.Minute)
	busy, from := pair(t, time.Minute)
	first := reading(c)
	await(t, "it looks", looking.Load)
	if n := busy.eagerly(make([]byte, 1)); n != 0 || busy.skips != 0 {
		t.Errorf("two looked at once, and the second got %d bytes and is spared %d reads", n, busy.skips)
	}
	send(t, from, "x")
	if r := <-reading(busy); r.text != "x" {
		t.Errorf("%+v", r)
	}
	await(t, "it has stopped to look", func() bool { return !looking.Load() })
	send(t, other, "y")
	if r := <-first; r.text != "y" || c.skips != 1 {
		t.Errorf("%+v, and %d reads are spared", r, c.skips)
	}
}

// Whoever has company does not look, be it now or in the round before, and for a store only
// one for whom somebody waits.
func TestCompany(t *testing.T) {
	for name, tt := range map[string]struct {
		wrap   func(net.Conn) net.Conn
		others []bool // by how many reads of others: it looks
	}{
		"client": {Client, []bool{true, true, true, false, false}},
		"store":  {Store, []bool{false, true, true, false, false}},
	} {
		for others, want := range tt.others {
			plain, other := pair(t, 0)
			c := tt.wrap(plain.Conn).(*conn)
			looks := func(round string, before, during int, want bool) {
				t.Helper()
				stirred.Add(uint32(before))
				send(t, other, "a")
				n := c.eagerly(make([]byte, 1))
				if (n > 0) != want {
					t.Errorf("%s, %d reads of others, %s: %d bytes were found", name, others, round, n)
				}
				stirred.Add(uint32(during))
				if n == 0 {
					_, _ = c.Conn.Read(make([]byte, 1))
				}
				c.stir()
			}
			looks("at first", others, 0, false)
			looks("as in the round before", others, 0, want)
			looks("with one, as many while it waits", 1, max(others-1, 0), others <= company)
			looks("with one", 1, 0, others <= company)
			looks("with one again", 1, 0, true)
		}
	}
}

func TestNoSocket(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if Client(a) != a {
		t.Error("what is no socket was wrapped")
	}
}

func TestReadAllocatesNothing(t *testing.T) {
	c, other := pair(t, time.Minute)
	b, text := make([]byte, 1), []byte("x")
	if n := testing.AllocsPerRun(100, func() {
		_, _ = other.Write(text)
		_, _ = c.Read(b)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
