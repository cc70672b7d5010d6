package redistest

import (
	"context"
	"slices"
	"strings"
	"testing"

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
		"--cluster-replica-validity-factor", "0", // else a replica gives up for ever once it has lost some elections
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

// AwaitReplica waits until replica has all that master has.
func (c *Cluster) AwaitReplica(master, replica *Server) { awaitReplica(c.t, master, replica) }

// Depose has a master know no other server of the cluster any more, and its replica take its place:
// as where the network is broken between the servers, and not to their clients.
func (c *Cluster) Depose(master, replica *Server) {
	c.t.Helper()
	awaitReplica(c.t, master, replica)
	slot := slices.Index(c.Masters, master) * slots / len(c.Masters)
	for s, id := range c.ids {
		if s != master {
			c.do(master, "cluster", "forget", id)
		}
	}
	c.do(replica, "cluster", "failover", "takeover")
	for _, s := range c.Servers() {
		if s != master {
			Await(c.t, "the others know who has taken over", func() bool {
				return c.ownerID(s, slot) == c.ids[replica]
			})
		}
	}
}

// TellIfFailed logs how each server sees the cluster, if the test has failed.
func (c *Cluster) TellIfFailed() {
	if !c.t.Failed() {
		return
	}
	for _, s := range c.Servers() {
		nodes, err := s.control().ClusterNodes(context.Background()).Result()
		c.t.Logf("%s sees, %v:\n%s", s.Addr, err, nodes)
	}
}

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
