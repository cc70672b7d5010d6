package history_test

import (
	"math/rand/v2"
	"net"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// The parts of the rig that a history cannot do without: a fault that does
// nothing would find nothing.

func through(t *testing.T, p *proxy) *goredis.Client {
	c := goredis.NewClient(&goredis.Options{
		Addr: p.addr, Protocol: 2, MaxRetries: -1, ReadTimeout: time.Second, DialerRetries: 1,
	})
	t.Cleanup(func() { c.Close() })
	return c
}

func TestProxyFaults(t *testing.T) {
	tests := []struct {
		name     string
		trouble  trouble
		executed string // INCR was, by the time its sender has an error
		after    string // and a little later, when the fault is over
	}{
		{"drop replies", trouble{mode: dropReplies, chance: 1}, "1", "1"},
		{"cut on reply", trouble{mode: cutOnReply, chance: 1}, "1", "1"},
		{"reset", trouble{mode: reset, chance: 1}, "", ""},
		{"black hole", trouble{mode: blackHole}, "", "1"},
		{"late", trouble{mode: late, chance: 1, least: 1500 * time.Millisecond, most: 2 * time.Second}, "", "1"},
	}
	s := redistest.Start(t)
	direct := s.Client()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := startProxy(t, s.Addr, subscribes, rand.New(rand.NewPCG(1, 1)))
			c, ctx := through(t, p), t.Context()
			if err := c.Set(ctx, "warm", "up", 0).Err(); err != nil {
				t.Fatalf("SET before the fault: %v", err)
			}
			p.set(commands, tt.trouble)
			if err := c.Incr(ctx, tt.name).Err(); err == nil {
				t.Error("INCR has succeeded")
			}
			if got := direct.Get(ctx, tt.name).Val(); got != tt.executed {
				t.Errorf("after the error the counter is %q, want %q", got, tt.executed)
			}
			c.Close() // its sender is gone
			p.set(commands, trouble{})
			if tt.after == tt.executed {
				time.Sleep(500 * time.Millisecond) // in which nothing more is executed
			}
			e2e.Until(func() bool { return direct.Get(ctx, tt.name).Val() == tt.after })
			if got := direct.Get(ctx, tt.name).Val(); got != tt.after {
				t.Errorf("after the fault the counter is %q, want %q", got, tt.after)
			}
		})
	}
}

func TestProxyTellsLanesApart(t *testing.T) {
	s := redistest.Start(t)
	p := startProxy(t, s.Addr, subscribes, rand.New(rand.NewPCG(1, 1)))
	c, ctx := through(t, p), t.Context()
	hears := func(ps *goredis.PubSub) bool {
		if err := s.Client().Publish(ctx, "news", "x").Err(); err != nil {
			t.Fatal(err)
		}
		_, err := ps.ReceiveTimeout(ctx, 200*time.Millisecond)
		return err == nil
	}
	old := c.Subscribe(ctx, "news")
	defer old.Close()
	if _, err := old.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	if !hears(old) {
		t.Error("a subscriber hears nothing though nothing is wrong")
	}
	p.freeze(messages)
	if hears(old) {
		t.Error("a frozen subscriber hears a message")
	}
	if err := c.Ping(ctx).Err(); err != nil {
		t.Errorf("PING on the other lane: %v", err)
	}
	fresh := c.Subscribe(ctx, "news")
	defer fresh.Close()
	if _, err := fresh.Receive(ctx); err != nil || !hears(fresh) {
		t.Errorf("a new subscriber hears nothing, err = %v", err)
	}
	p.set(messages, trouble{mode: blackHole})
	if hears(fresh) {
		t.Error("a subscriber in a black hole hears a message")
	}
	p.set(messages, trouble{})
	p.set(commands, trouble{mode: reset, chance: 1})
	if err := c.Ping(ctx).Err(); err == nil {
		t.Error("PING has succeeded on a lane that is reset")
	}
	if !hears(fresh) {
		t.Error("a fault of commands has hit a subscriber")
	}
}

// A reply that was dropped must not be followed by one that is taken for it.
func TestProxyStaysDeaf(t *testing.T) {
	s := redistest.Start(t)
	p := startProxy(t, s.Addr, subscribes, rand.New(rand.NewPCG(1, 1)))
	c, err := net.Dial("tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p.set(commands, trouble{mode: dropReplies, chance: 1})
	for _, line := range []string{"ECHO one\r\n", "ECHO two\r\n"} {
		if _, err := c.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		if n, err := c.Read(make([]byte, 64)); err == nil {
			t.Errorf("%q: %d bytes came back, want none", line, n)
		}
		p.set(commands, trouble{})
	}
}
