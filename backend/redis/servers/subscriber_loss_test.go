package servers

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend/redis/conn"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

func TestSubscriberComesBack(t *testing.T) {
	for _, tt := range []struct {
		name   string
		unseen bool // Redis takes the old connection for a good one
		loss   func(s *redistest.Server, link *redistest.Link, client *goredis.Client)
	}{
		{"CLIENT KILL", false, func(_ *redistest.Server, _ *redistest.Link, client *goredis.Client) {
			client.ClientKillByFilter(t.Context(), "TYPE", "pubsub")
		}},
		{"restart", false, func(s *redistest.Server, _ *redistest.Link, _ *goredis.Client) { s.Restart() }},
		{"half-open connections", true, func(_ *redistest.Server, link *redistest.Link, _ *goredis.Client) {
			link.SetPresent(redistest.BlackHole)
		}},
		{"a network that is gone for a while", true, func(_ *redistest.Server, link *redistest.Link, _ *goredis.Client) {
			link.Set(redistest.BlackHole)
			time.AfterFunc(700*time.Millisecond, func() { link.Set(redistest.Pass) })
		}},
		{"lost replies", true, func(_ *redistest.Server, link *redistest.Link, _ *goredis.Client) {
			link.SetPresent(redistest.DropReplies)
		}},
		{"a server that hangs for a while", true, func(s *redistest.Server, _ *redistest.Link, _ *goredis.Client) {
			s.Pause()
			time.AfterFunc(700*time.Millisecond, s.Resume)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := redistest.Start(t)
			link := redistest.Proxy(t, s.Addr)
			e := listen(t, link.Addr, 200*time.Millisecond, 150*time.Millisecond)
			var calls atomic.Int32
			e.Watch("foreign", func() { calls.Add(1) })
			redistest.Await(t, "the watch is confirmed", func() bool { return calls.Load() > 0 })

			client := s.Client()
			seen := calls.Load()
			tt.loss(s, link, client)
			redistest.Await(t, "a resync", func() bool { return e.resyncs.Load() > 1 })
			redistest.Await(t, "the watch is confirmed again", func() bool { return calls.Load() > seen })
			redistest.Await(t, "the subscriber is healthy", e.healthy)
			redistest.Await(t, "the subscriber is subscribed once", func() bool {
				n := client.PubSubNumSub(t.Context(), nodeChannel).Val()[nodeChannel]
				return n == 1 || tt.unseen && n > 1
			})
			client.Publish(t.Context(), nodeChannel, "back")
			if got := <-e.messages; got != "back" {
				t.Errorf("message = %q, want back", got)
			}
		})
	}
}

// The contract allows a half-dead subscription to cost 5 s; this one has the
// periods that are used in earnest.
func TestSubscriberNoticesHalfOpenConnectionInTime(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	link := redistest.Proxy(t, s.Addr)
	e := listen(t, link.Addr, ProbePeriod, probeTimeout)
	link.SetPresent(redistest.BlackHole) // no other connection is open before the first probe
	began := time.Now()
	redistest.Await(t, "a resync", func() bool { return e.resyncs.Load() == 2 })
	if due := ProbePeriod + probeTimeout; due > 4*time.Second {
		t.Errorf("it is due after %v, want a second to come back before 5s", due)
	}
	if took := time.Since(began); took > 20*time.Second { // of which a busy machine may need most
		t.Errorf("it took %v, want less than 5s", took)
	}
}

// When Redis knows nobody who listens, there is nothing to wait for.
func TestSubscriberNoticesLostSubscriptionAtOnce(t *testing.T) {
	s := redistest.Start(t)
	link := redistest.Proxy(t, s.Addr)
	e := listen(t, link.Addr, 100*time.Millisecond, time.Minute)
	link.SetPresent(redistest.BlackHole) // so that the subscriber does not see that it is cut off
	s.Client().ClientKillByFilter(t.Context(), "TYPE", "pubsub")
	began := time.Now()
	redistest.Await(t, "a resync", func() bool { return e.resyncs.Load() == 2 })
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v, as if the timeout of a minute counted", took)
	}
}

func TestSubscriberWithoutRedis(t *testing.T) {
	s := redistest.Start(t)
	var dials, deaf atomic.Int32
	var log redistest.Log
	opt, err := conn.Options(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	connect := opt.Dialer
	opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials.Add(1)
		return connect(ctx, network, addr)
	}
	client := goredis.NewClient(opt)
	t.Cleanup(func() { _ = client.Close() })
	h := newSubscriber(client, nodeChannel, slog.New(slog.NewTextHandler(&log, nil)))
	h.period, h.timeout = 50*time.Millisecond, 50*time.Millisecond
	if h.healthy() {
		t.Error("a subscriber that was not started is healthy")
	}
	h.Start(func(string) {}, func() {}, func() { deaf.Add(1) })
	t.Cleanup(h.Close)
	redistest.Await(t, "the subscriber is healthy", h.healthy)

	s.Kill()
	redistest.Await(t, "the subscriber is unhealthy", func() bool { return !h.healthy() })
	dials.Store(0)
	down := time.Now()
	redistest.Await(t, "some attempts to connect", func() bool { return dials.Load() > 2 && time.Since(down) > 500*time.Millisecond })
	if got, most := dials.Load(), 10*(1+int32(time.Since(down)/(500*time.Millisecond))); got > most {
		t.Errorf("%d attempts to connect in %v, want a few", got, time.Since(down))
	}
	if age := h.ProbeAge(); age < 500*time.Millisecond {
		t.Errorf("probeAge = %v, want at least 500ms", age)
	}
	if n := deaf.Load(); n > 0 {
		t.Errorf("it was told %d times to look by itself, at a server that is not there", n)
	}
	s.Restart()
	redistest.Await(t, "the subscriber is healthy", h.healthy)
	redistest.Await(t, "and says so", func() bool { return log.Count("level=INFO") > 0 }) // that comes next
	if lost, back := log.Count("level=WARN"), log.Count("level=INFO"); lost != 1 || back != 1 {
		t.Errorf("logged %d losses and %d returns, want one of each:\n%s", lost, back, &log)
	}
}

// A server that refuses to be listened to is told as such, by the log and to who asks, though
// what came first was the end of a connection.
func TestSubscriberIsRefused(t *testing.T) {
	s := redistest.Start(t)
	rdb := s.Client()
	var log redistest.Log
	h := newSubscriber(dial(t, redistest.Patient("redis://"+s.Addr)), nodeChannel, slog.New(slog.NewTextHandler(&log, nil)))
	h.period = 50 * time.Millisecond
	h.Start(func(string) {}, func() {}, func() {})
	t.Cleanup(h.Close)
	redistest.Await(t, "it hears", func() bool { return h.Deaf(nil) == nil })
	allow := func(rights string) {
		t.Helper()
		if err := rdb.Do(t.Context(), "acl", "setuser", "default", rights).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{"subscribe", "publish"} {
		told := fmt.Sprintf("'%s'", command)
		allow("-" + command)
		rdb.ClientKillByFilter(t.Context(), "TYPE", "pubsub")
		redistest.Await(t, "it says what is refused", func() bool {
			err := h.Deaf(nil)
			return err != nil && strings.Contains(err.Error(), "ACL SETUSER") && strings.Contains(err.Error(), told)
		})
		tried := s.CommandStats(t)["subscribe"] // those that were not refused
		redistest.Await(t, "it tries again", func() bool { return command == "subscribe" || s.CommandStats(t)["subscribe"] > tried+2 })
		if err := h.Deaf(nil); err == nil || !strings.Contains(err.Error(), told) {
			t.Errorf("deaf: %v, want that %s is refused", err, command)
		}
		allow("+" + command)
		redistest.Await(t, "it hears again", func() bool { return h.Deaf(nil) == nil })
		if n := log.Count(told); n != 1 {
			t.Errorf("the refusal of %s is logged %d times, want once:\n%s", command, n, log.String())
		}
	}
}
