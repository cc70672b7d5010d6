package redistest

import (
	"strconv"
	"strings"
	"testing"
)

// A replica is promoted however long that takes on a busy machine, where masters vote late and
// elections are lost.
func TestPromotesALateReplica(t *testing.T) {
	t.Parallel()
	c := StartCluster(t, 3, 1)
	for _, s := range c.Servers() { // ten times as long and a second, Redis waits as a rule
		c.do(s, "config", "set", "cluster-node-timeout", 200)
	}
	voters, replica := c.Masters[1:], c.Replicas[0]
	says := func() string { return replica.control().Info(t.Context(), "replication").Val() }
	for _, m := range voters {
		m.Pause()
	}
	Stop(t, c.Masters[0], replica)
	Await(t, "the replica has been without its master for long", func() bool {
		_, text, _ := strings.Cut(says(), "master_link_down_since_seconds:")
		text, _, _ = strings.Cut(text, "\r\n")
		seconds, _ := strconv.Atoi(text)
		return seconds >= 5
	})
	for _, m := range voters {
		m.Resume()
	}
	Await(t, "the replica is the master", func() bool { return strings.Contains(says(), "role:master") })
}
