package conn

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const (
	// masterTTL is how long a connection is used before the Sentinels are asked again
	// who the master is. They tell of a new one by a message, which may be lost; a
	// master that was cut off from them goes on to answer.
	masterTTL = 5 * time.Second
	// sentinelPatience is for a connection with all that goes before it: the Sentinel
	// asked last may hang, twice, and the others are asked then.
	sentinelPatience = 4 * IOTimeout
)

var errNoMaster = errors.New("redis address: the master's name is missing; write redis+sentinel://host1,host2,host3/mymaster")

// SentinelOptions reads the address of a master that Sentinels watch:
//
//	redis+sentinel://[user:password@]host[:26379],host,.../master[/db]
//	rediss+sentinel://...                  TLS to the Sentinels and to the servers
//
// user and password are those of the servers. The query may hold what options
// takes, and sentinel_username and sentinel_password, each also with _file.
func SentinelOptions(rawurl string) (*goredis.FailoverOptions, error) {
	return sentinelOptions(rawurl, nil)
}

// sentinelOptions has connections to the servers made with password; see Open. That of the Sentinels
// stays what it was at the start: the library asks nobody for it.
func sentinelOptions(rawurl string, password func() string) (*goredis.FailoverOptions, error) {
	s, err := readSeveral(rawurl, "26379")
	if err != nil {
		return nil, err
	}
	master, db, _ := strings.Cut(s.path, "/")
	if master == "" {
		return nil, errNoMaster
	}
	for name, values := range s.query {
		if len(values) > 1 {
			return nil, fmt.Errorf("redis address: %s is given %d times", name, len(values))
		}
	}
	user, err := take(s.query, "sentinel_username")
	if err != nil {
		return nil, err
	}
	secret, err := take(s.query, "sentinel_password")
	if err != nil {
		return nil, err
	}
	if user != "" && secret == "" {
		return nil, errors.New("redis address: sentinel_username needs sentinel_password or sentinel_password_file")
	}
	opt, err := s.options(db)
	if err != nil {
		return nil, err
	}
	renew(opt, password)
	f := failover(opt)
	f.SentinelAddrs, f.MasterName, f.SentinelUsername, f.SentinelPassword = s.hosts, master, user, secret
	return f, nil
}

// failover is opt for a server whose address is not known yet.
func failover(opt *goredis.Options) *goredis.FailoverOptions {
	return &goredis.FailoverOptions{
		ClientName: opt.ClientName, Protocol: opt.Protocol, Username: opt.Username, Password: opt.Password, DB: opt.DB,
		CredentialsProvider: opt.CredentialsProvider,
		Dialer:              opt.Dialer, TLSConfig: opt.TLSConfig, DialTimeout: max(opt.DialTimeout, sentinelPatience), DialerRetries: opt.DialerRetries,
		ReadTimeout: opt.ReadTimeout, WriteTimeout: opt.WriteTimeout, ContextTimeoutEnabled: opt.ContextTimeoutEnabled,
		MaxRetries: opt.MaxRetries, PipelinePoolSize: opt.PipelinePoolSize, DisableIdentity: opt.DisableIdentity,
		PoolFIFO: opt.PoolFIFO, PoolSize: opt.PoolSize, PoolTimeout: opt.PoolTimeout,
		MinIdleConns: opt.MinIdleConns, MaxIdleConns: opt.MaxIdleConns, MaxActiveConns: opt.MaxActiveConns,
		ConnMaxIdleTime: opt.ConnMaxIdleTime, ConnMaxLifetime: cmp.Or(max(opt.ConnMaxLifetime, 0), masterTTL),
	}
}

// NewMaster makes a client of the master. Who that is it asks the Sentinels at
// each new connection, and closes the ones to another server then.
func NewMaster(opt *goredis.FailoverOptions) *goredis.Client {
	c, _ := newMaster(opt)
	return c
}

func newMaster(opt *goredis.FailoverOptions) (*goredis.Client, *others) {
	own, o := *opt, &others{opt: *opt}
	own.Dialer = o.connect
	c := goredis.NewFailoverClient(&own)
	c.AddHook(newDialHook())
	return c, o
}
