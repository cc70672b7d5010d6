package redistest_test

import (
	"context"
	"net"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend/redis/redistest"
)

func TestServerLifeCycle(t *testing.T) {
	s := redistest.Start(t)
	c := s.Client()
	ctx := t.Context()
	if err := c.Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatalf("SET: %v", err)
	}
	if got := s.CommandStats(t)["set"]; got != 1 {
		t.Errorf("CommandStats: set = %d, want 1", got)
	}
	unix, err := net.Dial("unix", s.Socket)
	if err != nil {
		t.Errorf("dial the Unix socket: %v", err)
	} else {
		unix.Close()
	}

	s.Pause()
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if err := c.Ping(short).Err(); err == nil {
		t.Error("a paused server has answered")
	}
	s.Resume()
	if err := c.Ping(ctx).Err(); err != nil {
		t.Errorf("PING after Resume: %v", err)
	}

	s.Kill()
	if err := c.Ping(ctx).Err(); err == nil {
		t.Error("a killed server has answered")
	}
	s.Restart()
	if err := c.Get(ctx, "k").Err(); err != goredis.Nil {
		t.Errorf("GET after Restart: err = %v, want %v", err, goredis.Nil)
	}
}

func TestStartPassesArguments(t *testing.T) {
	s := redistest.Start(t, "--requirepass", "secret")
	err := s.Client().Ping(t.Context()).Err()
	if !goredis.HasErrorPrefix(err, "NOAUTH") {
		t.Errorf("PING without password: err = %v, want NOAUTH", err)
	}
}

// through returns a client over l that waits at most 200 ms for a reply.
func through(t *testing.T, l *redistest.Link) *goredis.Client {
	c := goredis.NewClient(&goredis.Options{
		Addr: l.Addr, MaxRetries: -1, PoolSize: 1, ReadTimeout: 200 * time.Millisecond, DialerRetries: 1,
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestProxyFaults(t *testing.T) {
	for _, tt := range []struct {
		name     string
		fault    redistest.Fault
		executed string // what the server has counted after the fault
	}{
		{"black hole", redistest.BlackHole, "1"},
		{"drop replies", redistest.DropReplies, "2"},
		{"close on reply", redistest.CloseOnReply, "2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := redistest.Start(t)
			l := redistest.Proxy(t, s.Addr)
			c, ctx := through(t, l), t.Context()
			if err := c.Incr(ctx, "n").Err(); err != nil {
				t.Fatalf("INCR before the fault: %v", err)
			}
			l.SetPresent(tt.fault)
			if err := c.Incr(ctx, "n").Err(); err == nil {
				t.Error("INCR during the fault has succeeded")
			}
			if got := s.Client().Get(ctx, "n").Val(); got != tt.executed {
				t.Errorf("after the fault n = %s, want %s", got, tt.executed)
			}
			if err := c.Ping(ctx).Err(); err != nil {
				t.Errorf("PING on a new connection: %v", err)
			}
			l.Set(tt.fault)
			if err := c.Ping(ctx).Err(); err == nil {
				t.Error("PING has succeeded though Set concerns every connection")
			}
			l.Set(redistest.Pass)
			if err := c.Ping(ctx).Err(); err != nil {
				t.Errorf("PING after the fault: %v", err)
			}
		})
	}
}

func TestProxyDelaysReplies(t *testing.T) {
	s := redistest.Start(t)
	l := redistest.Proxy(t, s.Addr)
	c, ctx := through(t, l), t.Context()
	if err := c.Ping(ctx).Err(); err != nil {
		t.Fatalf("PING: %v", err)
	}
	l.Delay(50 * time.Millisecond)
	began := time.Now()
	if err := c.Ping(ctx).Err(); err != nil {
		t.Fatalf("PING: %v", err)
	}
	if took := time.Since(began); took < 50*time.Millisecond {
		t.Errorf("PING took %v, want at least 50ms", took)
	}
}

// What a black hole has swallowed arrives late, as TCP sends it again.
func TestBlackHoleDeliversLate(t *testing.T) {
	s := redistest.Start(t)
	l := redistest.Proxy(t, s.Addr)
	conn, err := net.Dial("tcp", l.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	l.Set(redistest.BlackHole)
	if _, err := conn.Write([]byte("SET late yes\r\n")); err != nil {
		t.Fatal(err)
	}
	c, ctx := s.Client(), t.Context()
	if got := c.Get(ctx, "late").Val(); got != "" {
		t.Errorf("in the black hole: late = %q, want nothing", got)
	}
	l.Set(redistest.Pass)
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := conn.Read(make([]byte, 8)); err != nil {
		t.Errorf("reply after the black hole: %v", err)
	}
	if got := c.Get(ctx, "late").Val(); got != "yes" {
		t.Errorf("after the black hole: late = %q, want yes", got)
	}
}
