package redis

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockgw/lockgw/backend/resplimit"
)

const (
	ioTimeout   = 500 * time.Millisecond // to connect, to write, and to wait for replies
	poolTimeout = 200 * time.Millisecond
	// userTimeout bounds how long the kernel keeps a connection on which sent
	// bytes are not acknowledged; by default that is a quarter of an hour.
	userTimeout = 3 * time.Second
)

// options reads the address of one Redis server:
//
//	redis://[user][:password]@host[:6379][/db]
//	rediss://...                               TLS, trusting the system's roots
//	redis+unix://[user:password@]/path/to.sock[?db=n]
//
// The query may hold db, password_file, ca_file, cert_file, key_file (rediss only) and what
// goredis.ParseURL knows, save what would make go-redis send a request twice or
// wait without end. An error never contains the password.
func options(rawurl string) (*goredis.Options, error) {
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
	files := tlsFiles{ca: q.Get("ca_file"), cert: q.Get("cert_file"), key: q.Get("key_file")}
	for _, name := range []string{"ca_file", "cert_file", "key_file"} {
		q.Del(name)
	}
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
	if err := files.apply(opt.TLSConfig); err != nil {
		return nil, fmt.Errorf("redis address: %w", err)
	}
	return settle(opt)
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

// settle fills in what the address leaves open and what it may not change.
func settle(opt *goredis.Options) (*goredis.Options, error) {
	for _, t := range []struct {
		name string
		set  *time.Duration
		def  time.Duration
	}{
		{"dial_timeout", &opt.DialTimeout, ioTimeout},
		{"read_timeout", &opt.ReadTimeout, ioTimeout},
		{"write_timeout", &opt.WriteTimeout, ioTimeout},
		{"pool_timeout", &opt.PoolTimeout, poolTimeout},
	} {
		if *t.set < 0 {
			return nil, fmt.Errorf("redis address: %s must be more than 0: a request must not wait for ever", t.name)
		}
		*t.set = cmp.Or(*t.set, t.def)
	}
	if opt.Username != "" && opt.Password == "" { // go-redis would log in as the default user
		return nil, fmt.Errorf("redis address: user %q has no password", opt.Username)
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
	opt.Dialer = dialer(opt.DialTimeout, opt.TLSConfig)
	return opt, nil
}

// dialer connects so that a peer which vanishes without a word is noticed in
// seconds, while idle by keep-alives and while sending by userTimeout.
func dialer(timeout time.Duration, config *tls.Config) func(context.Context, string, string) (net.Conn, error) {
	d := &net.Dialer{
		Timeout:         timeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 2},
		Control:         setUserTimeout,
	}
	dial := d.DialContext
	if config != nil {
		dial = (&tls.Dialer{NetDialer: d, Config: config}).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return resplimit.Conn(c), nil
	}
}

func setUserTimeout(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = limitUnanswered(int(fd))
	})
	return errors.Join(err, failed)
}

// tlsFiles are PEM files, "" where not given.
type tlsFiles struct{ ca, cert, key string }

// apply puts the files into config, which is nil for a connection without TLS.
func (f tlsFiles) apply(config *tls.Config) error {
	if f == (tlsFiles{}) {
		return nil
	}
	if config == nil {
		return errors.New("ca_file, cert_file and key_file need rediss://")
	}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return fmt.Errorf("ca_file: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("ca_file: no certificate in %s, which has to be PEM", f.ca)
		}
	}
	if f.cert == "" && f.key == "" {
		return nil
	}
	if f.cert == "" || f.key == "" {
		return errors.New("cert_file and key_file go together, but one is missing")
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return fmt.Errorf("cert_file and key_file: %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return nil
}
