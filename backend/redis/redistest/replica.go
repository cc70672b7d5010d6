package redistest

import (
	"strings"
	"testing"
	"time"
)

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
