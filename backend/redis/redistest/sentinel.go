package redistest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
)

// MasterName is by what the Sentinels of Watched know the master.
const MasterName = "locks"

// Watched is a master with a replica, and Sentinels that watch them.
type Watched struct {
	Master, Replica *Server // as they were at the start
	Sentinels       []*Server

	t testing.TB
}

// StartWatched starts all of them and waits until the Sentinels know all. A master
// that does not answer counts as down after 1.5 s: a busy machine must not look so. args are for Start, of the two
// servers. They end with the test.
func StartWatched(t testing.TB, sentinels int, args ...string) *Watched {
	t.Helper()
	args = append([]string{"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"}, args...)
	w := &Watched{t: t, Master: Start(t, args...)}
	w.Replica = Start(t, append(args, "--replicaof", "127.0.0.1", w.Master.port())...)
	awaitReplica(t, w.Master, w.Replica)
	for range sentinels {
		w.Sentinels = append(w.Sentinels, w.sentinel(sentinels/2+1))
	}
	for _, s := range w.Sentinels {
		Await(t, "a Sentinel knows all", func() bool {
			told := ask(t, s).Master(t.Context(), MasterName).Val()
			return told["num-slaves"] == "1" && told["num-other-sentinels"] == strconv.Itoa(sentinels-1)
		})
	}
	return w
}

func ask(t testing.TB, sentinel *Server) *goredis.SentinelClient {
	c := goredis.NewSentinelClient(&goredis.Options{Addr: sentinel.Addr, MaxRetries: -1})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (w *Watched) sentinel(quorum int) *Server {
	dir := w.t.TempDir()
	config := filepath.Join(dir, "sentinel.conf")
	text := fmt.Sprintf("sentinel monitor %[1]s 127.0.0.1 %[2]s %[3]d\nsentinel down-after-milliseconds %[1]s 1500\nsentinel failover-timeout %[1]s 3000\n",
		MasterName, w.Master.port(), quorum)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	s := start(w.t, dir, config, []string{"--sentinel"})
	// Its periods are made for machines, not for tests. Not the one of PING: what it
	// knows of a replica counts for five of these once the master is down.
	if err := s.control().Do(w.t.Context(), "sentinel", "debug", "info-period", 500, "ask-period", 200, "publish-period", 500).Err(); err != nil {
		w.t.Fatalf("SENTINEL DEBUG: %v", err)
	}
	return s
}

// Another starts a Sentinel more, and waits until those that run and it know each other. That
// they know of others, too, is no matter: what one that is gone has published may come late.
func (w *Watched) Another(quorum int) *Server {
	w.t.Helper()
	s := w.sentinel(quorum)
	w.Sentinels = append(w.Sentinels, s)
	for _, one := range w.Sentinels {
		Await(w.t, "the Sentinels know each other", func() bool {
			known := map[string]bool{one.Addr: true}
			for _, other := range ask(w.t, one).Sentinels(w.t.Context(), MasterName).Val() {
				known[net.JoinHostPort(other["ip"], other["port"])] = true
			}
			return !slices.ContainsFunc(w.Sentinels, func(s *Server) bool { return !known[s.Addr] })
		})
	}
	return s
}

// URL is the address of the master as lockgw takes it.
func (w *Watched) URL() string {
	hosts := make([]string, len(w.Sentinels))
	for i, s := range w.Sentinels {
		hosts[i] = s.Addr
	}
	return "redis+sentinel://" + strings.Join(hosts, ",") + "/" + MasterName
}

// AwaitMaster waits until all Sentinels that run say that s is the master.
func (w *Watched) AwaitMaster(s *Server) {
	w.t.Helper()
	Await(w.t, "the Sentinels have a new master", func() bool {
		for _, sentinel := range w.Sentinels {
			told := ask(w.t, sentinel).GetMasterAddrByName(w.t.Context(), MasterName).Val()
			if len(told) != 2 || told[1] != s.port() {
				return false
			}
		}
		return strings.Contains(s.control().Info(w.t.Context(), "replication").Val(), "role:master")
	})
}

// SwitchTo has to take the place of from, which then follows it, without a fault.
func (w *Watched) SwitchTo(from, to *Server) {
	w.t.Helper()
	Await(w.t, "a Sentinel begins a failover", func() bool { // unless it has not heard of the replica lately
		return ask(w.t, w.Sentinels[0]).Failover(w.t.Context(), MasterName).Err() == nil
	})
	w.AwaitMaster(to)
	awaitReplica(w.t, to, from)
}
