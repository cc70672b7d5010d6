package client

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/session"
)

func wantWord(t *testing.T, err error, word string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Word != word || e.Text == "" {
		t.Errorf("err = %v, want %s", err, word)
	}
}

// A Client that nobody has dialled is told from one that is, and blocks nobody.
func TestZeroClient(t *testing.T) {
	var c Client
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := c.Lock(ctx, "a", LockOptions{}); !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "Dial") {
		t.Errorf("lock = %v, want %v and what is missing", err, ErrClosed)
	}
	if err := c.Close(); err != nil {
		t.Errorf("close = %v", err)
	}
}

// What the gateway would hang up on is not sent: with the connection, the session would end, and
// what it holds be given to others.
func TestRequestBeyondALimit(t *testing.T) {
	c := start(t).client(Options{})
	if _, err := c.Lock(t.Context(), "held", LockOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Lock(t.Context(), "a", LockOptions{Note: strings.Repeat("x", 70<<10)}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "65536 bytes") {
		t.Errorf("a note of 70 KiB: %v, want %v with the limit", err, ErrInvalid)
	}
	if _, err := c.Do(t.Context(), append([]string{"LOCKINFO"}, make([]string, 64)...)...); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "64 arguments") {
		t.Errorf("65 arguments: %v, want %v with the limit", err, ErrInvalid)
	}
	if n, err := c.Unlock(t.Context(), "held", UnlockOptions{}); n != 0 || err != nil {
		t.Errorf("unlock = %d, %v, want what was held before", n, err)
	}
}

func TestClient(t *testing.T) {
	g := start(t)
	ctx := t.Context()
	a, b := g.client(Options{}), g.client(Options{})
	before := session.Boottime()
	v, err := a.Lock(ctx, "a", LockOptions{TTL: 10 * time.Second, Thread: 3, MaxHold: time.Minute, Note: "why", Request: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	left := v.Deadline - before
	if v.Name != "a" || v.State != Held || v.Thread != 3 || v.Count != 1 || v.Fence == 0 || v.Note != "why" || !v.AutoRenew ||
		left < 9*time.Second || left > 10*time.Second || v.MaxHoldAt.IsZero() || v.Expires.IsZero() || v.Since.IsZero() || v.Left <= 0 {
		t.Errorf("hold = %+v", v)
	}
	if again, err := a.Lock(ctx, "a", LockOptions{Thread: 3}); err != nil || again.Count != 2 || again.Fence != v.Fence {
		t.Errorf("re-entry = %+v, err %v", again, err)
	}
	if _, err := b.Lock(ctx, "a", LockOptions{Wait: 10 * time.Millisecond}); !errors.Is(err, ErrNotAcquired) {
		t.Errorf("err = %v, want %v", err, ErrNotAcquired)
	}
	if left, err := a.Renew(ctx, "a", 3, time.Minute); err != nil || left < 50*time.Second || left > time.Minute {
		t.Errorf("renew = %v, err %v", left, err)
	}
	st, err := b.Info(ctx, "a")
	if err != nil || st.State != Held || st.Holder == nil || st.Holder.Owner != v.Owner || st.Holder.Node != "host-a" ||
		st.Holder.PID == 0 || st.Fence != v.Fence || st.TTL <= 0 || st.Holder.Since.IsZero() {
		t.Errorf("info = %+v, holder %+v, err %v", st, st.Holder, err)
	}
	if all, err := b.Locks(ctx, LockQuery{Prefix: "a", Limit: 10}); err != nil || len(all.Items) != 1 || all.Items[0].Name != "a" || all.Held != 1 {
		t.Errorf("locks = %+v, err %v", all, err)
	}
	if n, err := a.Unlock(ctx, "a", UnlockOptions{Thread: 3}); err != nil || n != 1 {
		t.Errorf("unlock = %d, err %v, want 1 left", n, err)
	}
	if n, err := a.Unlock(ctx, "a", UnlockOptions{Thread: 3, All: true, Request: "r2"}); err != nil || n != 0 {
		t.Errorf("unlock all = %d, err %v, want 0 left", n, err)
	}
	_, err = a.Unlock(ctx, "a", UnlockOptions{})
	wantWord(t, err, "NOTHELD")
	_, err = a.Lock(ctx, "a b", LockOptions{})
	wantWord(t, err, "INVALID")
	if st, err := b.Info(ctx, "a"); err != nil || st.State != Free || st.Holder != nil {
		t.Errorf("info of a free lock = %+v, err %v", st, err)
	}
}

func TestClientSession(t *testing.T) {
	g := start(t)
	ctx := t.Context()
	a := g.client(Options{})
	first, err := a.Session(ctx)
	if err != nil || len(first.Token) != 43 || first.UUID == "" || first.Keepalive != 0 || first.Since.IsZero() {
		t.Fatalf("session = %+v, err %v, want a new one with its token", first, err)
	}
	hold, err := a.Lock(ctx, "a", LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b := g.client(Options{Token: first.Token})
	info, err := b.Session(ctx)
	if err != nil || info.ID != first.ID || info.Token != "" || len(info.Holds) != 1 || info.Holds[0].Fence != hold.Fence {
		t.Errorf("session by its token = %+v, err %v", info, err)
	}
	if err := b.EndSession(ctx); err != nil {
		t.Errorf("end: %v", err)
	}
	_, err = a.Lock(ctx, "a", LockOptions{})
	wantWord(t, err, "NOSESSION")
	_, err = Dial(ctx, g.path, Options{Token: first.Token})
	wantWord(t, err, "NOSESSION")
	token, err := b.NewSession(ctx, 3*time.Second)
	if err != nil || len(token) != 43 {
		t.Errorf("new session = %v, err %v", token, err)
	}
	if info, err := b.Session(ctx); err != nil || info.Keepalive != 3*time.Second {
		t.Errorf("keepalive = %v, err %v, want 3s", info.Keepalive, err)
	}
	if err := b.Ping(ctx); err != nil {
		t.Errorf("ping: %v", err)
	}
}

func TestClientNotices(t *testing.T) {
	g := start(t)
	notices, messages := make(chan Notice, 10), make(chan string, 10)
	c := g.client(Options{
		OnNotice:  func(n Notice) { notices <- n },
		OnMessage: func(channel, payload string) { messages <- channel + " " + payload },
	})
	for _, name := range []string{"a", "*"} {
		if err := c.Subscribe(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	v, err := c.Lock(t.Context(), "a", LockOptions{MaxHold: 30 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := receive(t, notices), (Notice{Lost, "a", v.Fence, "max_hold"}); got != want {
		t.Errorf("notice = %+v, want %+v", got, want)
	}
	for _, event := range []string{"acquired", "acquired", "lost", "lost"} {
		if got := receive(t, messages); !strings.HasPrefix(got, "lock:a {") || !strings.Contains(got, `"event":"`+event+`"`) {
			t.Errorf("message = %s, want %s on lock:a", got, event)
		}
	}
}

func receive[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(slack):
		t.Fatal("nothing came")
	}
	return v
}

// A call that is given up takes back what it asked, and that needs the connection.
func TestClientCancel(t *testing.T) {
	g := start(t)
	a, b := g.client(Options{}), g.client(Options{})
	if _, err := a.Lock(t.Context(), "a", LockOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { g.waiters(1); cancel() }()
	if _, err := b.Lock(ctx, "a", LockOptions{Wait: time.Minute}); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want %v", err, context.Canceled)
	}
	g.waiters(0)
	<-b.Done()
	if err := b.Ping(t.Context()); !errors.Is(err, ErrClosed) || errors.Is(err, context.Canceled) {
		t.Errorf("a call after it = %v, want %v: its own context goes on", err, ErrClosed)
	}
}

// A command that has several answers is refused, before it would cost the connection.
func TestDoSubscribe(t *testing.T) {
	c := start(t).client(Options{})
	for _, args := range [][]string{{"SUBSCRIBE", "lock:a", "lock:b"}, {"punsubscribe"}} {
		if _, err := c.Do(t.Context(), args...); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v, want %v", args, err, ErrInvalid)
		}
	}
	for _, args := range [][]string{{"SUBSCRIBE", "lock:a"}, {"SUBSCRIBE", "lock:b"}, {"UNSUBSCRIBE", "lock:a"}, {"PING"}} {
		if _, err := c.Do(t.Context(), args...); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// A call without a command gets no answer, so that it would wait for ever, or get that of the
// next call.
func TestDoNothing(t *testing.T) {
	c := start(t).client(Options{})
	ctx, cancel := context.WithTimeout(t.Context(), slack)
	defer cancel()
	if v, err := c.Do(ctx); !errors.Is(err, ErrInvalid) {
		t.Errorf("no command = %q, %v, want %v", v, err, ErrInvalid)
	}
	if v, err := c.Do(t.Context(), "ECHO", "mine"); v != "mine" || err != nil {
		t.Errorf("the next call = %q, %v, want its own answer", v, err)
	}
}

// A number below 0 is refused and not taken for none: a semaphore would become a lock.
func TestNegativeNumbers(t *testing.T) {
	c := start(t).client(Options{})
	for what, do := range map[string]func(ctx context.Context) error{
		"a limit": func(ctx context.Context) error {
			_, err := c.Lock(ctx, "a", LockOptions{Limit: -1})
			return err
		},
		"a page of locks": func(ctx context.Context) error {
			_, err := c.Locks(ctx, LockQuery{Limit: -1})
			return err
		},
		"a page of sessions": func(ctx context.Context) error {
			_, _, err := c.Sessions(ctx, SessionQuery{Count: -1})
			return err
		},
	} {
		if err := do(t.Context()); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s of -1: %v, want %v", what, err, ErrInvalid)
		}
	}
}

// A call whose context has ended is not sent, which would cost the connection.
func TestClientCancelBeforeSending(t *testing.T) {
	g := start(t)
	c := g.client(Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 {
		if err := c.Ping(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("err = %v, want %v", err, context.Canceled)
		}
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Errorf("a call after it: %v", err)
	}
}

// slowWrite returns from Write when the answer was read, and after then.
type slowWrite struct {
	net.Conn
	reads chan struct{} // one for each Read that begins
	then  func()
}

func (w slowWrite) Read(b []byte) (int, error) {
	w.reads <- struct{}{}
	return w.Conn.Read(b)
}

func (w slowWrite) Write(b []byte) (int, error) {
	n, err := w.Conn.Write(b)
	<-w.reads // for the answer
	<-w.reads // for what follows it
	w.then()
	return n, err
}

// No call succeeds whose context costs the connection, and with it what the call has got.
func TestClientCancelAtTheAnswer(t *testing.T) {
	for range 50 { // a select that chooses at random would be right in half of them
		ours, theirs := net.Pipe()
		go func() {
			_, _ = theirs.Read(make([]byte, 64))
			_, _ = theirs.Write([]byte("+OK\r\n"))
		}()
		ctx, cancel := context.WithCancel(t.Context())
		c := newClient(slowWrite{ours, make(chan struct{}, 3), cancel}, Options{})
		if _, err := c.Do(ctx, "LOCK", "a"); !errors.Is(err, context.Canceled) {
			t.Fatalf("err = %v, want %v", err, context.Canceled)
		}
		<-c.Done()
		c.Close()
		theirs.Close()
	}
}

// A call that waits behind others to be sent ends with its context, too.
func TestClientCancelInLine(t *testing.T) {
	g := start(t)
	a, b := g.client(Options{}), g.client(Options{})
	if _, err := a.Lock(t.Context(), "a", LockOptions{}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range maxPending + 1 { // the first waits, and the last has no place behind it
		wg.Go(func() { _, _ = b.Lock(t.Context(), "a", LockOptions{Wait: time.Minute}) })
	}
	for end := time.Now().Add(slack); len(b.calls) < maxPending; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no line")
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- b.Ping(ctx) }()
	select {
	case err := <-ended:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("err = %v, want %v", err, context.DeadlineExceeded)
		}
	case <-time.After(5 * time.Second):
		t.Error("the call goes on after the end of its context")
	}
	if err := b.Err(); err != nil {
		t.Errorf("the connection has ended: %v", err)
	}
	b.Close()
	wg.Wait()
}

func TestClientGatewayGone(t *testing.T) {
	g := start(t)
	a := g.client(Options{})
	if a.Err() != nil {
		t.Errorf("err = %v while connected", a.Err())
	}
	if _, err := a.Lock(t.Context(), "a", LockOptions{}); err != nil {
		t.Fatal(err)
	}
	b := g.client(Options{})
	waiting := make(chan error, 1)
	go func() {
		_, err := b.Lock(t.Context(), "a", LockOptions{Wait: time.Minute})
		waiting <- err
	}()
	g.waiters(1)
	g.Close()
	var e *Error
	if err := receive(t, waiting); err == nil || errors.As(err, &e) || !strings.Contains(err.Error(), "gateway") {
		t.Errorf("a wait whose gateway goes = %v, want an error that names the gateway", err)
	}
	<-a.Done()
	if err := a.Err(); err == nil || !strings.Contains(err.Error(), "gateway closed the connection") {
		t.Errorf("err = %v, want that the gateway has closed the connection", err)
	}
	if _, err := Dial(t.Context(), g.path, Options{}); err == nil || !strings.Contains(err.Error(), g.path) {
		t.Errorf("dial = %v, want an error that names %s", err, g.path)
	}
}

// A gateway that refuses a connection says why and hangs up, without a request. That is told
// whenever the request comes: it must not look as if there were no gateway.
func TestClientOfARefusal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	refused := func() net.Conn {
		nc, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		gateway, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = gateway.Write([]byte("-NOAUTH you may not\r\n"))
		gateway.Close()
		return nc
	}
	for range 20 {
		c := newClient(lateRead{refused(), make(chan struct{})}, Options{})
		wantWord(t, c.Ping(t.Context()), "NOAUTH")
		_ = c.Close()
		c = newClient(refused(), Options{})
		<-c.Done()
		wantWord(t, c.Ping(t.Context()), "NOAUTH")
		_ = c.Close()
	}
}

// lateRead reads nothing before there was a write.
type lateRead struct {
	net.Conn
	written chan struct{}
}

func (r lateRead) Read(b []byte) (int, error) {
	<-r.written
	return r.Conn.Read(b)
}

func (r lateRead) Write(b []byte) (int, error) {
	defer close(r.written)
	return r.Conn.Write(b)
}

// A gateway that has not taken those who came before yet is there all the same.
func TestDialWaitsForRoom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	first, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, err := net.Dial("unix", path); !errors.Is(err, unix.EAGAIN) {
		t.Skipf("here a full queue is no EAGAIN: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := connect(ctx, path); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("err = %v, want %v", err, unix.EAGAIN)
	}
	connected := make(chan error, 1)
	go func() {
		nc, err := connect(t.Context(), path)
		if err == nil {
			nc.Close()
		}
		connected <- err
	}()
	taken, _, err := unix.Accept(fd)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(taken)
	if err := <-connected; err != nil {
		t.Error(err)
	}
}

func TestClientClose(t *testing.T) {
	g := start(t)
	c := g.client(Options{})
	c.Close()
	c.Close()
	if err := c.Ping(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("err = %v, want %v", err, ErrClosed)
	}
}

// When Close has returned nothing is called any more.
func TestClientCloseWaits(t *testing.T) {
	g := start(t)
	called, release := make(chan struct{}), make(chan struct{})
	c := g.client(Options{OnNotice: func(Notice) { close(called); <-release }})
	if _, err := c.Lock(t.Context(), "a", LockOptions{MaxHold: 10 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	<-called
	closed := make(chan struct{})
	go func() { c.Close(); close(closed) }()
	select {
	case <-closed:
		t.Error("closed while OnNotice runs")
	case <-time.After(30 * time.Millisecond):
	}
	close(release)
	<-closed
}

func TestClientConcurrently(t *testing.T) {
	g := start(t)
	c := g.client(Options{})
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			for range 20 {
				v, err := c.Lock(t.Context(), "a", LockOptions{Thread: int64(i + 1)})
				if err == nil && v.Thread != int64(i+1) {
					t.Errorf("thread = %d, want %d: the answer of another call", v.Thread, i+1)
				}
				if err == nil {
					_, err = c.Unlock(t.Context(), "a", UnlockOptions{Thread: int64(i + 1)})
				}
				if err != nil && !errors.Is(err, ErrNotAcquired) {
					t.Errorf("err = %v", err)
				}
			}
		})
	}
	wg.Wait()
}

// Whatever listens on the path, the client ends with an error.
func TestClientOfNonsense(t *testing.T) {
	for name, answer := range map[string]string{
		"HTTP":           "HTTP/1.1 400 Bad Request\r\n\r\n",
		"nothing":        "",
		"an empty push":  ">0\r\n",
		"many answers":   "+OK\r\n+OK\r\n+OK\r\n",
		"not admitted":   "-NOAUTH no\r\n",
		"strange pushes": ">1\r\n:1\r\n>5\r\n+lockgw\r\n*0\r\n_\r\n_\r\n_\r\n>2\r\n+message\r\n_\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			ln, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			go func() {
				nc, err := ln.Accept()
				if err == nil {
					nc.Read(make([]byte, 100)) // the HELLO
					nc.Write([]byte(answer))
					nc.Close()
				}
			}()
			calls := 0
			c, err := Dial(t.Context(), path, Options{OnNotice: func(Notice) { calls++ }, OnMessage: func(string, string) { calls++ }})
			if err == nil {
				_, err = c.Lock(t.Context(), "a", LockOptions{})
				c.Close()
			}
			if err == nil || errors.Is(err, ErrProtocol) != (name == "HTTP") {
				t.Errorf("a lock from nonsense: %v", err)
			}
		})
	}
}
