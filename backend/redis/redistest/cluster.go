package redistest

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend/servertest"
)

// nodeTimeout is after how many milliseconds the servers of a Cluster take one that
// does not answer for failed: longer than a busy machine makes one wait.
const nodeTimeout = "2000"

// Cluster is a Redis Cluster of servers of its own.
type Cluster struct {
	Masters  []*Server // as they were at the start, with equal shares of the slots
	Replicas []*Server // of the masters in turn

	t   testing.TB
	ids map[*Server]string
}

// StartCluster starts a cluster and waits until all of its servers serve it. args are
// for Start. It ends with the test.
func StartCluster(t testing.TB, masters, replicas int, args ...string) *Cluster {
	t.Helper()
	c := &Cluster{t: t, ids: map[*Server]string{}}
	for i := range masters + replicas {
		s := c.start(args)
		if i < masters {
			c.Masters = append(c.Masters, s)
		} else {
			c.Replicas = append(c.Replicas, s)
		}
	}
	for i, s := range c.Masters {
		c.do(s, "cluster", "set-config-epoch", i+1)
		c.do(s, "cluster", "addslotsrange", i*slots/masters, (i+1)*slots/masters-1)
	}
	c.meet()
	for i, s := range c.Replicas {
		c.do(s, "cluster", "replicate", c.ids[c.Masters[i%masters]])
	}
	c.awaitServed()
	for i, s := range c.Replicas {
		c.AwaitReplica(c.Masters[i%masters], s)
	}
	return c
}

const slots = 16384

func (c *Cluster) start(args []string) *Server {
	c.t.Helper()
	_, bus, _ := strings.Cut(servertest.FreeAddrs(c.t, 1)[0], ":")
	s := Start(c.t, append([]string{
		"--cluster-enabled", "yes", "--cluster-node-timeout", nodeTimeout, "--cluster-port", bus,
		"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
	}, args...)...)
	c.ids[s] = c.do(s, "cluster", "myid").(string)
	return s
}

// Servers are all of them.
func (c *Cluster) Servers() []*Server {
	return append(append([]*Server(nil), c.Masters...), c.Replicas...)
}

// meet introduces all servers to each other.
func (c *Cluster) meet() {
	c.t.Helper()
	all := c.Servers()
	for _, s := range all {
		for _, other := range all {
			if s != other {
				c.introduce(s, other)
			}
		}
	}
	c.await("all servers know each other", func(s *Server) bool {
		known := s.control().ClusterNodes(c.t.Context()).Val()
		return strings.Count(known, "connected") == len(all) && !strings.Contains(known, "handshake") && !strings.Contains(known, "disconnected")
	})
}

func (c *Cluster) introduce(s, other *Server) {
	bus, err := other.control().ConfigGet(c.t.Context(), "cluster-port").Result()
	if err != nil {
		c.t.Fatalf("ask for the cluster port: %v", err)
	}
	c.do(s, "cluster", "meet", "127.0.0.1", other.port(), bus["cluster-port"])
}

// Add starts one more master, which has no slots yet, and appends it to Masters.
func (c *Cluster) Add(args ...string) *Server {
	c.t.Helper()
	s := c.start(args)
	c.Masters = append(c.Masters, s)
	c.meet()
	c.awaitServed()
	return s
}

func (c *Cluster) awaitServed() {
	c.t.Helper()
	c.await("all slots are served", func(s *Server) bool {
		return strings.Contains(s.control().ClusterInfo(c.t.Context()).Val(), "cluster_state:ok")
	})
}

// URL is the address of the cluster as lockgw takes it, by its first two servers.
func (c *Cluster) URL() string {
	return "redis+cluster://" + c.Masters[0].Addr + "," + c.Masters[1].Addr
}

// Owner is the server that has the slot of key.
func (c *Cluster) Owner(key string) *Server {
	c.t.Helper()
	client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{c.Masters[0].Addr, c.Masters[1].Addr}})
	defer client.Close()
	owner, err := client.MasterForKey(c.t.Context(), key)
	if err != nil {
		c.t.Fatalf("find the server that has %s: %v", key, err)
	}
	for _, s := range c.Servers() {
		if s.Addr == owner.Options().Addr {
			return s
		}
	}
	c.t.Fatalf("%s is at %s, which is none of the cluster's", key, owner.Options().Addr)
	return nil
}

// Move moves the slot of key with all of its keys from one server to another, as
// redis-cli --cluster reshard does.
func (c *Cluster) Move(key string, from, to *Server) {
	c.t.Helper()
	slot := c.OpenMove(key, from, to)
	ctx := c.t.Context()
	client := from.control()
	for {
		keys, err := client.ClusterGetKeysInSlot(ctx, int(slot), 100).Result()
		if err != nil {
			c.t.Fatalf("list the keys of slot %d: %v", slot, err)
		}
		if len(keys) == 0 {
			break
		}
		migrate := []any{"migrate", "127.0.0.1", to.port(), "", 0, 30_000, "keys"}
		for _, k := range keys {
			migrate = append(migrate, k)
		}
		c.do(from, migrate...)
	}
	c.spreadEpochs()
	c.do(to, "cluster", "setslot", slot, "node", c.ids[to])
	c.do(from, "cluster", "setslot", slot, "node", c.ids[to])
	c.spreadEpochs()
	c.tellOwner(int(slot), to)
}

// spreadEpochs has all masters know the newest epoch. Who is given a slot claims it with an
// epoch above those that it knows: if another master has a newer one, a message of its own
// that is still under way takes the slot back. Whatever a master publishes carries its epoch.
func (c *Cluster) spreadEpochs() {
	c.t.Helper()
	epochs := map[*Server]int{}
	Await(c.t, "all masters know the newest epoch", func() bool {
		newest := 0
		for _, s := range c.Masters {
			_ = s.control().Publish(c.t.Context(), "redistest:epoch", "").Err() // one that is down knows it later
			info := s.control().ClusterInfo(c.t.Context()).Val()
			_, rest, _ := strings.Cut(info, "cluster_current_epoch:")
			text, _, _ := strings.Cut(rest, "\r\n")
			epochs[s], _ = strconv.Atoi(text)
			newest = max(newest, epochs[s])
		}
		for _, s := range c.Masters {
			if epochs[s] != 0 && epochs[s] < newest {
				return false
			}
		}
		return true
	})
}

// tellOwner has all masters know that to has slot, and waits for the replicas. Gossip tells
// them late, on a busy machine after many seconds, and a slot that moves on before that is
// claimed by two; so each is told, and again if it has believed an older claim since.
func (c *Cluster) tellOwner(slot int, to *Server) {
	c.t.Helper()
	tell := func(s *Server) { // it may be a replica, or know already
		_ = s.control().Do(c.t.Context(), "cluster", "setslot", slot, "node", c.ids[to]).Err()
	}
	for _, s := range c.Masters {
		tell(s)
	}
	tries := 0
	c.await("all servers know who has a slot", func(s *Server) bool {
		if c.ownerID(s, slot) == c.ids[to] {
			return true
		}
		if tries++; tries%50 == 0 {
			tell(s)
		}
		return false
	})
}

// ownerID is the server that has slot, as s sees it.
func (c *Cluster) ownerID(s *Server, slot int) string {
	for _, shard := range s.control().ClusterShards(c.t.Context()).Val() {
		for _, r := range shard.Slots {
			if int64(slot) < r.Start || int64(slot) > r.End {
				continue
			}
			for _, n := range shard.Nodes {
				if n.Role == "master" {
					return n.ID
				}
			}
		}
	}
	return ""
}

// OpenMove begins to move the slot of key and leaves it at that.
func (c *Cluster) OpenMove(key string, from, to *Server) (slot int64) {
	c.t.Helper()
	slot = from.control().ClusterKeySlot(c.t.Context(), key).Val()
	c.do(to, "cluster", "setslot", slot, "importing", c.ids[from])
	c.do(from, "cluster", "setslot", slot, "migrating", c.ids[to])
	return slot
}

// AwaitReplica waits until replica has all that master has.
func (c *Cluster) AwaitReplica(master, replica *Server) { awaitReplica(c.t, master, replica) }

func (c *Cluster) await(what string, is func(*Server) bool) {
	c.t.Helper()
	for _, s := range c.Servers() {
		Await(c.t, what, func() bool { return is(s) })
	}
}

func (c *Cluster) do(s *Server, args ...any) any {
	c.t.Helper()
	v, err := s.control().Do(context.WithoutCancel(c.t.Context()), args...).Result()
	if err != nil {
		c.t.Fatalf("%v: %v", args, err)
	}
	return v
}

// Await waits until is returns true, and fails the test if that takes more than a minute:
// an election that is lost is repeated after 8 s, and a busy machine loses several.
func Await(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// awaitReplica waits until replica has all that master has written.
func awaitReplica(t testing.TB, master, replica *Server) {
	t.Helper()
	m, r := master.control(), replica.control()
	Await(t, "a replica has what its master has", func() bool {
		_, written, _ := strings.Cut(m.Info(t.Context(), "replication").Val(), "master_repl_offset:")
		written, _, _ = strings.Cut(written, "\r\n")
		has := r.Info(t.Context(), "replication").Val()
		return written != "" && strings.Contains(has, "master_link_status:up") && strings.Contains(has, "slave_repl_offset:"+written+"\r\n")
	})
}

// CutOff has replica, which is paused by it, miss all that master writes from now on. To
// pause it would not do: what master sends then waits in its socket.
func CutOff(t testing.TB, master, replica *Server) {
	t.Helper()
	replica.Pause()
	m := master.control()
	if err := m.Do(t.Context(), "CLIENT", "KILL", "TYPE", "replica").Err(); err != nil {
		t.Fatalf("CLIENT KILL TYPE replica: %v", err)
	}
	Await(t, "the master has no replica", func() bool {
		return strings.Contains(m.Info(t.Context(), "replication").Val(), "connected_slaves:0\r\n")
	})
}

// Stop has a master answer no more writes, waits until its replica has them all, and
// kills it: what it has answered is not forgotten by the one that takes its place.
func Stop(t testing.TB, master, replica *Server) {
	t.Helper()
	if err := master.control().Do(t.Context(), "client", "pause", 60_000, "write").Err(); err != nil {
		t.Fatalf("CLIENT PAUSE: %v", err)
	}
	awaitReplica(t, master, replica)
	master.Kill()
}
