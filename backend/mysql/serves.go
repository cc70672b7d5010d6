package mysql

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lockgw/lockgw/backend"
)

// The least versions that are served.
const (
	leastMySQL         = 8
	leastMariaDB       = 10
	leastMariaDBMinor  = 6
	durable            = "1"
	flushAtCommit      = "innodb_flush_log_at_trx_commit"
	oneServerRemedy    = "name one server that has the locks, and another one that follows it by replication"
	readOnlyWords      = "this server is a replica or read-only, and takes no locks: name the server that takes writes, or all of them, in backend.url"
	anotherServerWords = "a request was sent to another server, or on another connection to it, than the gateway has settled with: " +
		"there is a proxy in between, such as ProxySQL or MaxScale, that spreads requests; name MySQL itself in backend.url, or have the proxy keep a connection for each client"
)

// serves says why a server cannot be used; nil: it can.
func (s *server) serves() error {
	why := ""
	members, _ := strconv.Atoi(s.variables["wsrep_cluster_size"])
	switch {
	case s.old():
		why = fmt.Sprintf("version %s is too old: it has to be MySQL %d.0 or MariaDB %d.%d, or newer", s.version, leastMySQL, leastMariaDB, leastMariaDBMinor)
	case s.on("read_only"), s.on("super_read_only"), s.on("innodb_read_only"):
		return errReadOnly
	case s.frozen:
		why = "SYSDATE() is the time at which a statement began, so that a lease would be judged by a time before a wait: start the server without --sysdate-is-now"
	case s.on("wsrep_on") && members > 1:
		why = fmt.Sprintf("this is one of %d members of a Galera cluster, each of which takes writes by a clock of its own: %s", members, oneServerRemedy)
	case s.variables["group_replication_single_primary_mode"] == "OFF":
		why = "this is a member of a replication group with several primaries, each of which takes writes by a clock of its own: set group_replication_single_primary_mode = ON"
	case s.variables[flushAtCommit] != durable:
		why = fmt.Sprintf("%s is %s, so that a crash forgets the locks of the last second: SET GLOBAL %s = 1, and put it into the server's configuration", flushAtCommit, s.variables[flushAtCommit], flushAtCommit)
	case s.offset != 0:
		why = fmt.Sprintf("it keeps a time zone that is %d s away from UTC although it was told not to: is there a proxy that leaves out SET?", s.offset)
	default:
		return nil
	}
	return fmt.Errorf("%w: %s", backend.ErrRefused, why)
}

func (s *server) on(variable string) bool {
	v := s.variables[variable]
	return v != "" && v != "OFF" && v != "0"
}

// maria: it is MariaDB.
func (s *server) maria() bool { return strings.Contains(s.version, "MariaDB") }

func (s *server) old() bool {
	major, rest, _ := strings.Cut(s.version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	switch {
	case errA != nil || errB != nil: // nobody knows
		return false
	case s.maria():
		return a < leastMariaDB || a == leastMariaDB && b < leastMariaDBMinor
	default:
		return a < leastMySQL
	}
}
