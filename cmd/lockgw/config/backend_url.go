package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/lockgw/lockgw/backend/etcd"
	"github.com/lockgw/lockgw/backend/mysql"
	"github.com/lockgw/lockgw/backend/postgres"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redlock"
	"github.com/lockgw/lockgw/backend/zookeeper"
)

// StoreText is where a store is, for everybody who may see that: without a user, a
// password and options.
func StoreText(raw string) string {
	scheme, rest, _ := strings.Cut(raw, "://")
	if end := strings.IndexAny(rest, "?#"); end >= 0 {
		rest = rest[:end]
	}
	hosts, path := rest, ""
	if end := strings.IndexByte(rest, '/'); end >= 0 {
		hosts, path = rest[:end], rest[end:]
	}
	return scheme + "://" + hosts[strings.LastIndexByte(hosts, '@')+1:] + path
}

// checkLogin refuses an @ behind the host. It stands there where a password has a /, ? or # in
// it as it is. Some stores would find such a password all the same, but what comes before the
// sign would be shown for the host, or what comes after it told as a mistake of the query.
func checkLogin(raw string) error {
	_, rest, _ := strings.Cut(raw, "://")
	if end := strings.IndexAny(rest, "/?#"); end >= 0 && strings.Contains(rest[end:], "@") {
		return errors.New("has an @ after the host; in a user or password write / as %2F, ? as %3F and # as %23, elsewhere write @ as %40")
	}
	return nil
}

const presentSchemes = "memory://, redis://, rediss://, redis+unix://, redis+sentinel://, redis+cluster://, redlock://, etcd://, zookeeper://, postgres:// and mysql://"

// CheckBackendURL says why openBackend cannot open a store by that URL. The error does not
// repeat the URL, because it may have a password in it.
func CheckBackendURL(raw string) error {
	scheme, rest, ok := strings.Cut(raw, "://")
	switch {
	case !ok:
		return errors.New("must be the URL of a store, such as memory:// or redis://localhost:6379/0")
	case scheme == "memory" && rest != "":
		return errors.New("memory:// takes nothing after it")
	case scheme == "memory":
		return nil
	case checkLogin(raw) != nil:
		return checkLogin(raw)
	case strings.HasSuffix(scheme, "+sentinel"), strings.HasSuffix(scheme, "+cluster"):
		return redis.CheckURL(raw)
	case scheme == "redlock": // several hosts, which package url does not know
		return redlock.CheckURL(raw)
	case scheme == "etcd":
		return etcd.CheckURL(raw)
	case scheme == "zookeeper":
		return zookeeper.CheckURL(raw)
	case scheme == "postgres", scheme == "postgresql":
		return postgres.CheckURL(raw)
	case scheme == "mysql":
		return mysql.CheckURL(raw)
	case scheme == "mariadb":
		return errors.New("a MariaDB is named by mysql://, as a MySQL is")
	case scheme != "redis" && scheme != "rediss" && scheme != "redis+unix":
		return fmt.Errorf("unknown scheme %q; this version has "+presentSchemes, scheme)
	}
	return redis.CheckURL(raw)
}
