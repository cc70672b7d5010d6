package servers

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/lockgw/lockgw/backend/redis/redistest"
)

const nodeChannel = "lockgw:node:a:1"

// ear is a started subscriber and what it has told.
type ear struct {
	*subscriber
	messages chan string
	resyncs  atomic.Int32
}

// listen starts a subscriber that probes quickly.
func listen(t *testing.T, addr string, period, timeout time.Duration) *ear {
	t.Helper()
	e := &ear{subscriber: newSubscriber(dial(t, "redis://"+addr), nodeChannel, slog.New(slog.DiscardHandler)), messages: make(chan string, 100)}
	e.period, e.timeout = period, timeout
	e.Start(func(m string) { e.messages <- m }, func() { e.resyncs.Add(1) }, func() {})
	t.Cleanup(e.Close)
	redistest.Await(t, "the subscriber is healthy", e.healthy)
	return e
}

// hears checks that the next message told is one that is published now.
func (e *ear) hears(t *testing.T, client *goredis.Client, message string) {
	t.Helper()
	if n := client.Publish(t.Context(), nodeChannel, message).Val(); n != 1 {
		t.Errorf("PUBLISH of %q reached %d, want 1", message, n)
	}
	select {
	case got := <-e.messages:
		if got != message {
			t.Errorf("message = %q, want %q", got, message)
		}
	case <-time.After(time.Minute):
		t.Errorf("message %q did not arrive", message)
	}
}

func TestSubscriberDelivers(t *testing.T) {
	s := redistest.Start(t)
	client := s.Client()
	e := listen(t, redistest.Patient(s.Addr), 10*time.Millisecond, time.Minute)
	for _, m := range []string{"g name", "", "p", "probe"} {
		e.hears(t, client, m)
	}
	client.Publish(t.Context(), nodeChannel, "p forged") // an echo of nothing is nobody's business
	redistest.Await(t, "some probes are sent", func() bool { return s.CommandStats(t)["publish"] > 10 })
	e.hears(t, client, "after the probes")
	if got := e.resyncs.Load(); got != 1 {
		t.Errorf("onResync was called %d times, want 1", got)
	}
	redistest.Await(t, "a probe came back later than the one before", func() bool {
		before := e.ProbeAge()
		time.Sleep(time.Millisecond)
		return e.ProbeAge() < before
	})
}

// An idle subscriber costs one PUBLISH per period.
func TestSubscriberIsCheap(t *testing.T) {
	s := redistest.Start(t)
	began := time.Now()
	listen(t, redistest.Patient(s.Addr), 100*time.Millisecond, time.Minute)
	redistest.Await(t, "five probes are sent", func() bool { return s.CommandStats(t)["publish"] >= 5 })
	stats := s.CommandStats(t)
	took := time.Since(began)
	if got, most := stats["publish"], int64(took/(100*time.Millisecond)); got > most {
		t.Errorf("%d PUBLISH in %v, want at most %d", got, took, most)
	}
	if got := stats["subscribe"]; got != 1 {
		t.Errorf("%d SUBSCRIBE, want 1", got)
	}
}

// What somebody else publishes as an echo proves nothing.
func TestSubscriberKnowsItsEcho(t *testing.T) {
	h := newSubscriber(nil, nodeChannel, slog.New(slog.DiscardHandler))
	h.timeout = 20 * time.Millisecond
	echoes := make(chan string, 1)
	h.deliver(nodeChannel, "p forged", echoes)
	if err := h.prove(t.Context(), "", echoes); err == nil {
		t.Error("another message was taken for the answer to SUBSCRIBE")
	}
	h.deliver(nodeChannel, "p forged", echoes)
	h.deliver(nodeChannel, "p ", echoes) // must not wait for anybody
	if err := h.prove(t.Context(), "", echoes); err != nil {
		t.Errorf("prove: %v", err)
	}
}

func TestSubscriberWatches(t *testing.T) {
	s := redistest.Start(t)
	client := s.Client()
	e := listen(t, redistest.Patient(s.Addr), 20*time.Millisecond, time.Minute)
	subscribers := func() int64 { return client.PubSubNumSub(t.Context(), "x").Val()["x"] }
	var calls atomic.Int32
	called := func(what string, n int32) {
		t.Helper()
		redistest.Await(t, what, func() bool { return calls.Load() >= n })
		calls.Store(0)
	}
	f := func() { calls.Add(1) }

	e.Unwatch("x") // nobody does
	e.Watch("x", f)
	called("the first watch is confirmed", 1)
	client.Publish(t.Context(), "x", "0")
	called("a message", 1)
	e.Watch("x", f)
	called("the second watch is confirmed too", 1)
	client.Publish(t.Context(), "y", "0")

	e.Unwatch("x")
	var others atomic.Int32
	e.Watch("y", func() { others.Add(1) })
	redistest.Await(t, "y is subscribed to", func() bool { return client.PubSubNumSub(t.Context(), "y").Val()["y"] == 1 })
	if got := subscribers(); got != 1 {
		t.Errorf("after one of two unwatch: %d subscribers of x, want 1", got)
	}
	client.Publish(t.Context(), "x", "0")
	called("a message for the watch that is left", 1)

	e.Unwatch("x")
	redistest.Await(t, "x is not subscribed to any more", func() bool { return subscribers() == 0 })
	passed := func() { // what came before is through, too
		t.Helper()
		others.Store(0)
		client.Publish(t.Context(), "y", "0")
		redistest.Await(t, "a message for y", func() bool { return others.Load() > 0 })
	}
	passed()
	calls.Store(0)
	client.Publish(t.Context(), "x", "0")
	passed()
	if got := calls.Load(); got != 0 {
		t.Errorf("f was called %d times for a channel that nobody watches", got)
	}
	e.Unwatch("x") // once too often must not count against the next
	e.Watch("x", f)
	called("x is watched again", 1)

	for range 200 { // whatever the order in which the subscriber sees them
		e.Unwatch("x")
		e.Watch("x", f)
	}
	called("the last watch is confirmed", 1)
	redistest.Await(t, "x is subscribed to", func() bool { return subscribers() == 1 })
	if got := e.resyncs.Load(); got != 1 {
		t.Errorf("onResync was called %d times, want 1: watching must not cost the connection", got)
	}
}

func TestSubscriberIsUnhealthyAtOnce(t *testing.T) {
	s := redistest.Start(t)
	e := listen(t, s.Addr, 10*time.Second, 10*time.Second)
	s.Kill()
	redistest.Await(t, "the subscriber is unhealthy", func() bool { return !e.healthy() })
}

func TestSubscriberCloseWaitsForCallbacks(t *testing.T) {
	s := redistest.Start(t)
	h := newSubscriber(dial(t, s.URL()), nodeChannel, slog.New(slog.DiscardHandler))
	entered, leave, closed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	h.Start(func(string) { close(entered); <-leave }, func() {}, func() {})
	redistest.Await(t, "the subscriber is healthy", h.healthy)
	s.Client().Publish(t.Context(), nodeChannel, "m")
	<-entered
	go func() {
		defer close(closed)
		h.Close()
	}()
	select {
	case <-closed:
		t.Error("Close has returned while a callback was running")
	case <-time.After(50 * time.Millisecond):
	}
	close(leave)
	<-closed
}

func TestSubscriberClose(t *testing.T) {
	s := redistest.Start(t)
	client := dial(t, s.URL())
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		before func()
	}{
		{"connected", func() {}},
		{"paused", s.Pause},
		{"without Redis", s.Kill},
	} {
		running := goleak.IgnoreCurrent()
		h := newSubscriber(client, nodeChannel, slog.New(slog.DiscardHandler))
		h.period, h.timeout = 50*time.Millisecond, 50*time.Millisecond
		h.Start(func(string) {}, func() {}, func() {})
		redistest.Await(t, tt.name+": the subscriber is healthy", h.healthy)
		tt.before()
		began := time.Now()
		h.Close()
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: Close took %v", tt.name, took)
		}
		goleak.VerifyNone(t, running)
		if tt.name == "paused" {
			s.Resume()
		}
	}
	h := newSubscriber(client, nodeChannel, slog.New(slog.DiscardHandler))
	h.Start(func(string) {}, func() {}, func() {})
	h.Close() // while Redis is gone
}

// Hubs on several masters share a channel, and hear each other's probes.
func TestSubscriberKeepsItsEchoFromOthers(t *testing.T) {
	h := newSubscriber(nil, nodeChannel, slog.New(slog.DiscardHandler))
	echoes := make(chan string, 1)
	h.deliver(nodeChannel, ProbePrefix+h.id+"1", echoes)
	h.deliver(nodeChannel, ProbePrefix+"another1", echoes)
	if got := <-echoes; got != h.id+"1" {
		t.Errorf("echo = %q, want our own", got)
	}
}
