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
