package mysql

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
	"github.com/lockgw/lockgw/backend/servertest"
	"github.com/lockgw/lockgw/backend/sqltable/sqltest"
)

// A member of a Galera cluster takes locks as long as it is the only one. Two that cannot see
// each other take none.
func TestGalera(t *testing.T) {
	if mysqltest.Real() {
		t.Log("MySQL has no Galera: this is for MariaDB alone")
		return
	}
	t.Parallel()
	addrs := servertest.FreeAddrs(t, 4) // two for each: for the group, and for what a member missed
	member := func(cluster string, mine []string) *mysqltest.Server {
		s := mysqltest.Start(t)
		s.Stop()
		// The members believe that they have the same data, so that none is copied.
		state := "version: 2.1\nuuid: 6c6f636b-6777-11f0-8000-000000000001\nseqno: 0\nsafe_to_bootstrap: 1\n"
		if err := os.WriteFile(filepath.Join(s.Dir(), "data", "grastate.dat"), []byte(state), 0o600); err != nil {
			t.Fatal(err)
		}
		s.Set("--wsrep-on=ON", "--wsrep-provider=/usr/lib/galera/libgalera_smm.so",
			"--wsrep-cluster-address=gcomm://"+cluster, "--wsrep-node-address="+mine[0], "--wsrep-sst-method=skip",
			"--wsrep-provider-options=gcache.size=1M;gmcast.listen_addr=tcp://"+mine[0]+";ist.recv_addr="+mine[1]+
				";evs.keepalive_period=PT0.2S;evs.inactive_check_period=PT0.2S;evs.suspect_timeout=PT1S;evs.inactive_timeout=PT2S;evs.install_timeout=PT2S",
			"--binlog-format=ROW", "--innodb-autoinc-lock-mode=2")
		s.Launch()
		return s
	}
	first := member("", addrs[:2])
	sqltest.Held(t, open(t, first.URL(), "a"), "n")

	second := member(addrs[0], addrs[2:])
	refused := func(s *mysqltest.Server, why string) {
		t.Helper()
		var err error
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); sqltest.Pause(t, 50*time.Millisecond) {
			table := open(t, s.URL(), "b")
			if _, err = table.Look(t.Context(), "n"); errors.Is(err, backend.ErrRefused) && contains(err, why) {
				return
			}
		}
		t.Errorf("err = %v, want %v with %q", err, backend.ErrRefused, why)
	}
	refused(first, "one of 2 members of a Galera cluster")
	second.Kill()
	refused(first, "does not serve now")
}
