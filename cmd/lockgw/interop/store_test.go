package interop

import (
	"context"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// store is a Redis of some kind.
type store struct {
	mode    string
	addrs   []string // for clients: of the servers or the sentinels
	master  string   // the name that sentinels know
	url     string   // as backend.url
	redis   goredis.UniversalClient
	clients []*goredis.Client // of each server that holds locks
}

func startStore(t *testing.T, mode string) *store {
	t.Helper()
	switch mode {
	case "single":
		return startSingle(t, mode)
	case "events":
		return startSingle(t, mode, "--notify-keyspace-events", "Kg")
	case "sentinel":
		return startSentinel(t)
	case "cluster":
		return startCluster(t)
	case "redlock":
		return startQuorum(t)
	}
	t.Fatalf("no kind of Redis is called %q", mode)
	return nil
}

func startSingle(t *testing.T, mode string, args ...string) *store {
	s := redistest.Start(t, args...)
	c := s.Client()
	return &store{mode: mode, addrs: []string{s.Addr}, url: s.URL(), redis: c, clients: []*goredis.Client{c}}
}

func startSentinel(t *testing.T) *store {
	w := redistest.StartWatched(t, 3)
	c := w.Master.Client()
	return &store{
		mode: "sentinel", addrs: addresses(w.Sentinels), master: redistest.MasterName, url: w.URL(),
		redis: c, clients: []*goredis.Client{c},
	}
}

func startCluster(t *testing.T) *store {
	c := redistest.StartCluster(t, 3, 0)
	addrs := addresses(c.Masters)
	rdb := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs, MaintNotificationsConfig: noMaintenance()})
	t.Cleanup(func() { _ = rdb.Close() })
	s := &store{mode: "cluster", addrs: addrs, url: c.URL(), redis: rdb}
	for _, m := range c.Masters {
		s.clients = append(s.clients, m.Client())
	}
	return s
}

// startQuorum starts servers of which each counts from its start, for it writes
// everything down.
func startQuorum(t *testing.T) *store {
	s := &store{mode: "redlock"}
	for range 3 {
		server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
		s.addrs = append(s.addrs, server.Addr)
		s.clients = append(s.clients, server.Client())
	}
	s.url, s.redis = "redlock://"+strings.Join(s.addrs, ","), s.clients[0]
	return s
}

func addresses(servers []*redistest.Server) []string {
	var addrs []string
	for _, s := range servers {
		addrs = append(addrs, s.Addr)
	}
	return addrs
}

// peerArgs tell a program where the servers are.
func (s *store) peerArgs() []string {
	mode := s.mode
	if mode == "events" {
		mode = "single"
	}
	args := []string{mode, strings.Join(s.addrs, ",")}
	if s.master != "" {
		args = append(args, s.master)
	}
	return args
}

// subscribers counts who listens for a release of name.
func (s *store) subscribers(ctx context.Context, name string) int64 {
	var n int64
	channel := channelOf(name)
	for _, c := range s.clients {
		for _, counts := range []map[string]int64{
			c.PubSubNumSub(ctx, channel, "__keyspace@0__:"+name).Val(), c.PubSubShardNumSub(ctx, channel).Val(),
		} {
			for _, k := range counts {
				n += k
			}
		}
	}
	return n
}

func noMaintenance() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// listen subscribes to the channel of name as a waiting program does. The function
// returned wants the message of a release.
func (s *store) listen(t testing.TB, name string) (heard func()) {
	t.Helper()
	subscribe := s.redis.Subscribe
	if s.mode == "cluster" {
		subscribe = s.redis.SSubscribe
	}
	sub := subscribe(t.Context(), channelOf(name))
	t.Cleanup(func() { _ = sub.Close() })
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		if m, err := sub.ReceiveMessage(ctx); err != nil || m.Payload != "0" {
			t.Errorf("message = %v, %v, want 0", m, err)
		}
	}
}

func channelOf(name string) string { return "redisson_lock__channel:{" + name + "}" }

// eventually waits until something is so.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
