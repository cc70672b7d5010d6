package conn

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockgw/lockgw/backend/dialer"
)

const (
	IOTimeout   = 500 * time.Millisecond // to connect, to write, and to wait for replies
	PoolTimeout = 200 * time.Millisecond
)

// Options reads the address of one Redis server:
//
//	redis://[user][:password]@host[:6379][/db]
//	rediss://...                               TLS, trusting the system's roots
//	redis+unix://[user:password@]/path/to.sock[?db=n]
//
// The query may hold db, password_file, ca_file, cert_file, key_file (rediss only) and what
// goredis.ParseURL knows, save what would make go-redis send a request twice or
// wait without end. An error never contains the password.
func Options(rawurl string) (*goredis.Options, error) {
	u, err := parseURL(rawurl)
	if err != nil {
		return nil, err
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("redis address: %w", err)
	}
	if err := checkQuery(q); err != nil {
		return nil, err
	}
	files, err := dialer.ReadTLS(q, u.Scheme == "rediss", "rediss://")
	if err != nil {
		return nil, fmt.Errorf("redis address: %w", err)
	}
	for _, name := range []string{"ca_file", "cert_file", "key_file"} {
		q.Del(name)
	}
	file := secretIn(q, "password")
	password, err := take(q, "password")
	if err != nil {
		return nil, err
	}
	if _, given := u.User.Password(); given && password != "" {
		return nil, errors.New("redis address: has two passwords")
	}
	u.RawQuery = q.Encode()

	opt, err := goredis.ParseURL(u.String())
	if err != nil {
		return nil, fmt.Errorf("redis address: %s", strings.TrimPrefix(err.Error(), "redis: "))
	}
	opt.Password = cmp.Or(password, opt.Password)
	if file.Path != "" {
		renew(opt, dialer.NewPassword(file))
	}
	return settle(opt, files)
}

var errAtSign = errors.New("redis address: has an @ after the host; in a password write / as %2F, ? as %3F " +
	"and # as %23, elsewhere write @ as %40")

// parseURL says what is wrong in words of its own: those of package url quote the
// part that they stumble over, which is often the password.
func parseURL(rawurl string) (*url.URL, error) {
	u, err := url.Parse(rawurl)
	if err != nil {
		return nil, errors.New("redis address: is no valid URL; write it like redis://user:password@host:6379/0, " +
			"with special characters of the password percent-encoded")
	}
	_, tail, _ := strings.Cut(rawurl, "://")
	if at := strings.IndexAny(tail, "/?#"); at >= 0 && strings.Contains(tail[at:], "@") {
		return nil, errAtSign
	}
	db := strings.Trim(u.Path, "/")
	switch {
	case u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "redis+unix":
		return nil, fmt.Errorf("redis address: unknown scheme %q, want redis, rediss, redis+unix, redis+sentinel or redis+cluster", u.Scheme)
	case u.Opaque != "":
		return nil, errors.New("redis address: the // after the scheme is missing")
	case u.Fragment != "":
		return nil, errors.New("redis address: has a part after #, which means nothing here")
	case u.Scheme == "redis+unix" && (u.Host != "" || u.Path == ""):
		return nil, errors.New("redis address: write redis+unix:///path/to.sock, with three slashes")
	case u.Scheme == "redis+unix":
		u.Scheme = "unix"
	case strings.Count(u.Host, ":") > 1 && !strings.HasPrefix(u.Host, "["): // which package url would take apart at the last one
		return nil, errors.New("redis address: an IPv6 address has to be in brackets, as in redis://[::1]:6379/0")
	case u.Port() != "" && !isPort(u.Port()):
		return nil, errors.New("redis address: the host needs a port from 1 to 65535, as in redis://host:6379/0")
	case strings.Trim(db, "0123456789") != "":
		return nil, errors.New("redis address: the path has to be a database number, as in redis://host:6379/0")
	}
	return u, nil
}

// checkQuery refuses what go-redis would take and what lockgw cannot work with.
func checkQuery(q url.Values) error {
	for name, values := range q {
		switch {
		case len(values) > 1:
			return fmt.Errorf("redis address: %s is given %d times", name, len(values))
		case name == "max_retries", name == "min_retry_backoff", name == "max_retry_backoff", name == "protocol":
			return fmt.Errorf("redis address: %s cannot be set: lockgw repeats requests itself and speaks RESP2", name)
		}
	}
	return nil
}

// settle fills in what an address leaves open and what it may not change. files are
// those of TLS; nil: there is none.
func settle(opt *goredis.Options, files *dialer.TLS) (*goredis.Options, error) {
	for _, t := range []struct {
		name string
		set  *time.Duration
		def  time.Duration
	}{
		{"dial_timeout", &opt.DialTimeout, IOTimeout},
		{"read_timeout", &opt.ReadTimeout, IOTimeout},
		{"write_timeout", &opt.WriteTimeout, IOTimeout},
		{"pool_timeout", &opt.PoolTimeout, PoolTimeout},
	} {
		if *t.set < 0 {
			return nil, fmt.Errorf("redis address: %s must be more than 0: a request must not wait for ever", t.name)
		}
		*t.set = cmp.Or(*t.set, t.def)
	}
	if opt.Username != "" && opt.Password == "" { // go-redis would log in as the default user
		return nil, errors.New("redis address: the user has no password; a password alone is written redis://:PASSWORD@host") // which the user may be
	}
	if opt.DB < 0 {
		return nil, fmt.Errorf("redis address: db must not be negative, but is %d", opt.DB)
	}
	if opt.ClientName == "" {
		opt.ClientName = "lockgw"
	}
	// RESP2, because lockgw has no use for what RESP3 adds: Lua answers in RESP2
	// types, and with RESP3 the client looks for push messages at every command.
	opt.Protocol = 2
	opt.MaxRetries = -1 // a request whose answer is lost must not be sent again behind our back
	opt.DialerRetries = 1
	opt.ContextTimeoutEnabled = true
	// Its default pool for pipelines is tried first, so that a server that cannot
	// be reached would cost two dial timeouts.
	opt.PipelinePoolSize = -1
	opt.DisableIdentity = true // CLIENT SETINFO, an error in the statistics of servers before 7.2
	opt.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	var secure func() *tls.Config
	if base := opt.TLSConfig; base != nil {
		secure = func() *tls.Config {
			c := files.Config()
			c.ServerName, c.InsecureSkipVerify = base.ServerName, base.InsecureSkipVerify
			return c
		}
	}
	opt.Dialer = Dialer(opt.DialTimeout, secure)
	return opt, nil
}

// CheckURL says why a store could not be opened by an address, and reads the files that it
// names. An error never contains the password.
func CheckURL(rawurl string) error {
	scheme, _, _ := strings.Cut(rawurl, "://")
	kind, server, several := strings.Cut(scheme, "+")
	one := !several || server == "unix"
	if !one && (kind != "redis" && kind != "rediss" || server != "sentinel" && server != "cluster") {
		return fmt.Errorf("redis address: unknown scheme %q, want redis, rediss, redis+unix, redis+sentinel or redis+cluster", scheme)
	}
	_, _, err := Open(rawurl, nil)
	return err
}

// renew has each connection log in by the password as it is then; nil: it does not change.
func renew(opt *goredis.Options, password func() string) {
	if password == nil {
		return
	}
	user, first := opt.Username, opt.Password
	opt.CredentialsProvider = func() (string, string) { return user, dialer.Password(password, first) }
}

// Open reads an address of any kind. What makes clients by it is one, of a single server or the
// master that Sentinels name, or all, of a cluster; the other one is nil.
// password counts before the one of the address, which is that of the start.
func Open(rawurl string, password func() string) (one func() *goredis.Client, all func() *goredis.ClusterClient, err error) {
	switch scheme, _, _ := strings.Cut(rawurl, "://"); scheme {
	case "redis+sentinel", "rediss+sentinel":
		opt, err := sentinelOptions(rawurl, password)
		return func() *goredis.Client { return NewMaster(opt) }, nil, err
	case "redis+cluster", "rediss+cluster":
		a, err := ClusterAddress(rawurl)
		if err == nil {
			renew(a.opt, password)
		}
		return nil, func() *goredis.ClusterClient { return a.New() }, err
	default:
		opt, err := Options(rawurl)
		if err == nil {
			renew(opt, password)
		}
		return func() *goredis.Client { return New(opt) }, nil, err
	}
}
