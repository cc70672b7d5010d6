package conn

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend/servertest"
)

func TestSentinelAddress(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("from file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		url, master, user, password, ownUser, ownPassword string
		hosts                                             []string
		db                                                int
		tls                                               bool
	}{
		{url: "redis+sentinel://h1,h2:1,[::1]:2/m", master: "m", hosts: []string{"h1:26379", "h2:1", "[::1]:2"}},
		{url: "redis+sentinel://h1/m%2Fn/3", master: "m", hosts: []string{"h1:26379"}, db: 0},
		{url: "redis+sentinel://u:p%40@h1,h2/m/3", master: "m", user: "u", password: "p@", hosts: []string{"h1:26379", "h2:26379"}, db: 3},
		{url: "redis+sentinel://h1/m?db=4&sentinel_password=x", master: "m", ownPassword: "x", hosts: []string{"h1:26379"}, db: 4},
		{url: "redis+sentinel://u@h1/m?password_file=" + secret + "&sentinel_username=v&sentinel_password_file=" + secret, master: "m",
			user: "u", password: "from file", ownUser: "v", ownPassword: "from file", hosts: []string{"h1:26379"}},
		{url: "rediss+sentinel://h1,h2/m", master: "m", hosts: []string{"h1:26379", "h2:26379"}, tls: true},
	} {
		opt, err := SentinelOptions(tt.url)
		if strings.Contains(tt.url, "%2F") { // a slash ends the name, however it is written
			if err == nil {
				t.Errorf("%s: err = nil, want one", tt.url)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: err = %v, want nil", tt.url, err)
			continue
		}
		if opt.MasterName != tt.master || !slices.Equal(opt.SentinelAddrs, tt.hosts) || opt.DB != tt.db || (opt.TLSConfig != nil) != tt.tls {
			t.Errorf("%s: %s of %q, db %d", tt.url, opt.MasterName, opt.SentinelAddrs, opt.DB)
		}
		if opt.Username != tt.user || opt.Password != tt.password || opt.SentinelUsername != tt.ownUser || opt.SentinelPassword != tt.ownPassword {
			t.Errorf("%s: logs in as %q %q and %q %q", tt.url, opt.Username, opt.Password, opt.SentinelUsername, opt.SentinelPassword)
		}
		if opt.TLSConfig != nil && opt.TLSConfig.ServerName != "" {
			t.Errorf("%s: asks every server for the certificate of %s", tt.url, opt.TLSConfig.ServerName)
		}
		if opt.MaxRetries != -1 || opt.ConnMaxLifetime != masterTTL {
			t.Errorf("%s: retries %d, connections last %v, want -1 and %v", tt.url, opt.MaxRetries, opt.ConnMaxLifetime, masterTTL)
		}
	}
}

func TestClusterAddress(t *testing.T) {
	for _, tt := range []struct {
		url, user, password string
		hosts               []string
	}{
		{url: "redis+cluster://h1,h2:1/", hosts: []string{"h1:6379", "h2:1"}},
		{url: "redis+cluster://u:p%2C@h1,h2/0?pool_size=3", user: "u", password: "p,", hosts: []string{"h1:6379", "h2:6379"}},
		{url: "rediss+cluster://:a,b@h1", password: "a,b", hosts: []string{"h1:6379"}},
	} {
		a, err := ClusterAddress(tt.url)
		if err != nil {
			t.Errorf("%s: err = %v, want nil", tt.url, err)
			continue
		}
		if !slices.Equal(a.nodes, tt.hosts) || a.opt.Username != tt.user || a.opt.Password != tt.password {
			t.Errorf("%s: %q as %q %q", tt.url, a.nodes, a.opt.Username, a.opt.Password)
		}
	}
}

// Nothing that is complained about may be the password, sesame, wherever it stands.
func TestSeveralRefuses(t *testing.T) {
	for _, tt := range []struct{ url, want string }{
		{"redis+sentinel://h1,h2", "master's name is missing"},
		{"redis+sentinel://h1/", "master's name is missing"},
		{"redis+sentinel:///m", "host 1 of 1 is missing"},
		{"redis+sentinel://h1,,h2/m", "host 2 of 3 is missing"},
		{"redis+sentinel://h1:x/m", "host 1 of 1 is not written like"},
		{"redis+sentinel://h1:0/m", "host 1 of 1 is not written like"},
		{"redis+sentinel://fd00::1/m", "such as h.example.net:6379 or [::1]:6379"},
		{"redis+sentinel://h1,:2/m", "host 2 of 2 is not written like"},
		{"redis+sentinel://h1/m/x", "database number"},
		{"redis+sentinel://h1/m/1/2", "database number"},
		{"redis+sentinel://h1/m#x", "after #"},
		{"redis+sentinel://h1/m?sentinel_username=u", "needs sentinel_password"},
		{"redis+sentinel://h1/m?sentinel_password=sesame&sentinel_password=b", "given 2 times"},
		{"redis+sentinel://h1/m?sentinel_password=sesame&sentinel_password_file=/x", "both given"},
		{"redis+sentinel://h1/m?sentinel_password_file=/does/not/exist", "/does/not/exist"},
		{"redis+sentinel://h1/m?sentinel_password_file=/dev/null", "/dev/null is empty"},
		{"redis+sentinel://:sesame@h1/m?password_file=/etc/hostname", "two passwords"},
		{"redis+sentinel://h1/m?max_retries=3", "max_retries"},
		{"redis+sentinel://u:ses/ame@h1/m", "@ after the host"},
		{"redis+sentinel://:sesame,h1/m", "host 1 of 2 is not written like"},
		{"redis+cluster://h1,h2/1", "no databases but 0"},
		{"redis+cluster://h1?db=1", "no databases but 0"},
		{"redis+cluster://h1/x", "database number"},
		{"redis+cluster://u:sesame%zz@h1", "no valid URL"},
		{"redis+cluster://h1?colour=sesame", "colour"},
		{"redis+ring://u:sesame@h1", "unknown scheme"},
	} {
		_, _, err := Open(tt.url, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Open(%q): err = %v, want one with %q", tt.url, err, tt.want)
		} else if strings.Contains(err.Error(), "sesame") || strings.Contains(err.Error(), "ame@") {
			t.Errorf("Open(%q): error tells the password: %v", tt.url, err)
		}
	}
}

// Each server, of which the address need not name the one that is asked, has to show a certificate
// of its own name, and no other.
func TestEachServerHasItsName(t *testing.T) {
	cert, key := servertest.Certificate(t)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for c, err := ln.Accept(); err == nil; c, err = ln.Accept() {
			_ = c.(*tls.Conn).Handshake()
			_ = c.Close()
		}
	}()
	for host, want := range map[string]string{"127.0.0.1": "", "localhost": "match localhost"} {
		opt, err := SentinelOptions("rediss+sentinel://elsewhere/m?dial_timeout=10s&ca_file=" + cert)
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := strings.Cut(ln.Addr().String(), ":")
		c, err := opt.Dialer(t.Context(), "tcp", host+":"+port)
		if err == nil {
			_ = c.Close()
		}
		if err == nil != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", host, err, want)
		}
	}
}
