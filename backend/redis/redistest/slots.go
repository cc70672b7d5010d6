package redistest

import (
	"fmt"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

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
		c.MoveKeys(from, to, keys...)
	}
	c.spreadEpochs()
	c.do(to, "cluster", "setslot", slot, "node", c.ids[to])
	c.do(from, "cluster", "setslot", slot, "node", c.ids[to])
	c.spreadEpochs()
	c.tellOwner(int(slot), to)
}

// MoveKeys moves keys of a slot whose move was begun.
func (c *Cluster) MoveKeys(from, to *Server, keys ...string) {
	c.t.Helper()
	migrate := []any{"migrate", "127.0.0.1", to.port(), "", 0, 30_000, "keys"}
	for _, k := range keys {
		migrate = append(migrate, k)
	}
	c.do(from, migrate...)
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
	for line := range strings.Lines(s.control().ClusterNodes(c.t.Context()).Val()) {
		node := strings.Fields(line)
		for _, r := range node[min(8, len(node)):] {
			from, to := -1, -1 // of a slot that moves there is another form
			if n, _ := fmt.Sscanf(r, "%d-%d", &from, &to); n == 1 {
				to = from
			}
			if slot >= from && slot <= to {
				return node[0]
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
