package conn

import (
	"net"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/backend/servertest"
)

func TestOptionsReadsAddress(t *testing.T) {
	for _, tt := range []struct {
		url                           string
		network, addr, user, password string
		db                            int
		tls                           bool
	}{
		{url: "redis://", network: "tcp", addr: "localhost:6379"},
		{url: "redis://h", network: "tcp", addr: "h:6379"},
		{url: "redis://h:1/2", network: "tcp", addr: "h:1", db: 2},
		{url: "redis://h/1?db=3", network: "tcp", addr: "h:6379", db: 3},
		{url: "redis://u:p%2F%40%3F@h", network: "tcp", addr: "h:6379", user: "u", password: "p/@?"},
		{url: "redis://:p@[::1]:7/", network: "tcp", addr: "[::1]:7", password: "p"},
		{url: "rediss://h", network: "tcp", addr: "h:6379", tls: true},
		{url: "redis+unix:///run/r.sock", network: "unix", addr: "/run/r.sock"},
		{url: "redis+unix://u:p@/run/r%40x.sock?db=4", network: "unix", addr: "/run/r@x.sock", user: "u", password: "p", db: 4},
	} {
		opt, err := Options(tt.url)
		if err != nil {
			t.Errorf("Options(%q): err = %v, want nil", tt.url, err)
			continue
		}
		if opt.Network != tt.network || opt.Addr != tt.addr || opt.DB != tt.db || (opt.TLSConfig != nil) != tt.tls {
			t.Errorf("Options(%q) = %s %s db %d tls %v, want %s %s db %d tls %v", tt.url,
				opt.Network, opt.Addr, opt.DB, opt.TLSConfig != nil, tt.network, tt.addr, tt.db, tt.tls)
		}
		if opt.Username != tt.user || opt.Password != tt.password {
			t.Errorf("Options(%q): user %q password %q, want %q %q", tt.url, opt.Username, opt.Password, tt.user, tt.password)
		}
	}
}

func TestOptionsSettings(t *testing.T) {
	opt, err := Options("redis://h?read_timeout=2s&pool_size=7&client_name=x")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"MaxRetries", opt.MaxRetries, -1},
		{"DialerRetries", opt.DialerRetries, 1},
		{"ContextTimeoutEnabled", opt.ContextTimeoutEnabled, true},
		{"Protocol", opt.Protocol, 2},
		{"PipelinePoolSize", opt.PipelinePoolSize, -1},
		{"maintenance notifications", string(opt.MaintNotificationsConfig.Mode), "disabled"},
		{"DialTimeout", opt.DialTimeout, 500 * time.Millisecond},
		{"WriteTimeout", opt.WriteTimeout, 500 * time.Millisecond},
		{"PoolTimeout", opt.PoolTimeout, 200 * time.Millisecond},
		{"ReadTimeout, as asked", opt.ReadTimeout, 2 * time.Second},
		{"PoolSize, as asked", opt.PoolSize, 7},
		{"ClientName, as asked", opt.ClientName, "x"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s = %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

func TestOptionsRefuses(t *testing.T) {
	for _, tt := range []struct{ url, want string }{
		{"", `unknown scheme ""`},
		{"localhost:6379", `unknown scheme "localhost"`},
		{"http://h", `unknown scheme "http"`},
		{"redis:h", "// after the scheme"},
		{"redis://h:0", "port from 1 to 65535"},
		{"redis://fd00::1", "has to be in brackets"},
		{"redis://geheim@fd00::1:6379", "has to be in brackets"},
		{"redis://:65536", "port from 1 to 65535"},
		{"rediss://[::1]:99999/1", "port from 1 to 65535"},
		{"redis://h/x", "database number"},
		{"redis://h/0/1", "database number"},
		{"redis://h/-1", "database number"},
		{"redis://geheim@h", "the user has no password; a password alone"},
		{"redis://h?db=-1", "must not be negative"},
		{"redis://h?db=x", "database number"},
		{"redis://h?colour=red", "colour"},
		{"redis://h?pool_size=many", "pool_size"},
		{"redis://h?db=1&db=2", "db is given 2 times"},
		{"redis://h?max_retries=3", "max_retries"},
		{"redis://h?protocol=3", "protocol"},
		{"redis://h?read_timeout=0", "read_timeout must be more than 0"},
		{"redis://h?pool_timeout=-1s", "pool_timeout must be more than 0"},
		{"redis://h?dial_timeout=soon", "dial_timeout"},
		{"redis://h?a=%zz", "invalid URL escape"},
		{"redis://h#frag", "after #"},
		{"redis://h?skip_verify=true", "skip_verify"},
		{"redis://h?ca_file=/x", "need rediss://"},
		{"rediss://h?cert_file=/x", "belong together"},
		{"rediss://h?ca_file=/does/not/exist", "/does/not/exist"},
		{"rediss://h?ca_file=/dev/null", "no certificate in /dev/null"},
		{"rediss://h?cert_file=/dev/null&key_file=/dev/null", "cert_file and key_file"},
		{"redis+unix://run/r.sock", "three slashes"},
		{"redis+unix://", "three slashes"},
	} {
		_, err := Options(tt.url)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Options(%q): err = %v, want one with %q", tt.url, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("Options(%q): what may be a password is in the error %v", tt.url, err)
		}
		if err := CheckURL(tt.url); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("CheckURL(%q): err = %v, want one with %q", tt.url, err, tt.want)
		}
	}
}

// What is wrong with a file, or with what stands beside it, is told before a gateway starts.
func TestCheckURLReadsFiles(t *testing.T) {
	const none = "/does/not/exist"
	for url, want := range map[string]string{
		"redis://u@h?password_file=" + none: none, "rediss://h?ca_file=" + none: none,
		"redis+unix:///s?db=1&password_file=" + none: none, "rediss+cluster://h1,h2?ca_file=" + none: none,
		"rediss+sentinel://h1,h2/m/1?ca_file=" + none:                                   none,
		"redis+sentinel://h1,h2/m/1?sentinel_username=u&sentinel_password_file=" + none: none,
		"redis://u:p@h?password_file=" + none:                                           "password",
		"redis://h?password=p&password_file=" + none:                                    "password",
		"redis://h?password_file=a&password_file=b":                                     "password_file",
		"redis://h?colour_file=" + none:                                                 "colour_file",
		"redis+cluster://h1,h2?ca_file=" + none:                                         "need rediss://",
		"rediss+sentinel://h1/m?key_file=" + none:                                       "cert_file",
		"redis+sentinel://h1,h2":                                                        "", "redis+cluster://h1,h2?colour=red": "colour",
		"redis+sentinel://h1/m?sentinel_username=u": "sentinel",
	} {
		if err := CheckURL(url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("CheckURL(%q) = %v, want an error with %q", url, err, want)
		}
	}
}

// An address with a password in which special characters are not encoded is parsed
// in surprising ways; whatever is complained about must not be the password.
func TestOptionsErrorsHidePassword(t *testing.T) {
	for _, url := range []string{
		"redis://user:sec/ret@h:6379/0", "redis://user:12/sec@h", "redis://user:sec?ret@h", "redis://user:12?sec@h",
		"redis://user:sec#ret@h", "redis://user:12#sec@h", "redis://user:sec%ret@h", "redis://user:sec ret@h",
		"redis://user:s@c?sec@h", "redis:user:sec@h", "http://user:sec@h", "redis://user:sec@h/x?y=z",
		"redis://user:sec@h:port", "redis+unix://user:sec@h/path", "redis+unix://user:12/sec@/path",
	} {
		_, err := Options(url)
		if err == nil {
			t.Errorf("Options(%q): err = nil, want one", url)
		} else if strings.Contains(err.Error(), "sec") {
			t.Errorf("Options(%q): error tells the password: %v", url, err)
		}
	}
}

func dial(t *testing.T, url string) *goredis.Client {
	t.Helper()
	opt, err := Options(url)
	if err != nil {
		t.Fatal(err)
	}
	c := goredis.NewClient(opt)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestConnects(t *testing.T) {
	s := redistest.Start(t, "--requirepass", "p/@?")
	ctx, login := t.Context(), ":p%2F%40%3F@"
	if err := dial(t, "redis://"+login+s.Addr+"/1").Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Errorf("SET over TCP: %v", err)
	}
	if got, err := dial(t, "redis+unix://"+login+s.Socket+"?db=1").Get(ctx, "k").Result(); got != "v" {
		t.Errorf("GET over the Unix socket = %q, %v, want v", got, err)
	}
	if err := dial(t, "redis://"+login+s.Addr).Get(ctx, "k").Err(); err != goredis.Nil {
		t.Errorf("GET in another database: err = %v, want %v", err, goredis.Nil)
	}
}

// byTLS starts a server with TLS, which trusts the one certificate that is its own.
func byTLS(t *testing.T, cert, key string) (s *redistest.Server, url string) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	s = redistest.Start(t, "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert)
	return s, "rediss://127.0.0.1:" + port + "?dial_timeout=10s" // a handshake can be slow under -race
}

func TestConnectsByTLS(t *testing.T) {
	ca, key := servertest.Certificate(t)
	_, base := byTLS(t, ca, key)
	if err := dial(t, base+"&ca_file="+ca+"&cert_file="+ca+"&key_file="+key).Ping(t.Context()).Err(); err != nil {
		t.Errorf("PING with certificate: %v", err)
	}
	if err := dial(t, base+"&ca_file="+ca).Ping(t.Context()).Err(); err == nil {
		t.Error("PING without the client certificate that the server asks for has succeeded")
	}
	if err := dial(t, base).Ping(t.Context()).Err(); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("PING to a server of an unknown authority: err = %v, want one about its certificate", err)
	}
}

// Files that are replaced count for the next connection, and until all of them are, those of before.
func TestFilesAreReplaced(t *testing.T) {
	cert, key := servertest.Certificate(t)
	s, url := byTLS(t, cert, key)
	opt, err := Options(url + "&ca_file=" + cert + "&cert_file=" + cert + "&key_file=" + key)
	if err != nil {
		t.Fatal(err)
	}
	ping := func() error {
		c := New(opt)
		defer c.Close()
		return c.Ping(t.Context()).Err()
	}
	if err := ping(); err != nil {
		t.Fatal(err)
	}
	next, nextKey := servertest.Certificate(t)
	servertest.Replace(t, cert, next)
	if err := ping(); err != nil {
		t.Errorf("with the certificate replaced, and not the key: %v", err)
	}
	servertest.Replace(t, key, nextKey)
	if err := s.Client().ConfigSet(t.Context(), "tls-cert-file", cert).Err(); err != nil { // which it reads again
		t.Fatal(err)
	}
	if err := ping(); err != nil {
		t.Errorf("to a server that knows the new certificate alone: %v", err)
	}
}
