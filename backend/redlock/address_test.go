package redlock_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/redlock"
	"github.com/lockgw/lockgw/backend/servertest"
)

func TestAddress(t *testing.T) {
	tests := []struct{ url, want string }{ // part of the error; "": none
		{"redlock://a,b,c", ""},
		{"redlock://a:7001,b:7002,c:7003,d,e/3?max_ttl=90s", ""},
		{"redlock://:s%2Fcret@a,b,c", ""},
		{"redlock://user:secret@[::1]:7001,[::1]:7002,[fe80::1]", ""},
		{"redlock://a,b,c?tls=true", ""},
		{"redis://a", "write it like redlock://"},
		{"redlock://", "member 1 is empty"},
		{"redlock://a,b", "2 members are too few"},
		{"redlock://a,,c", "member 2 is empty"},
		{"redlock://a,b,a:6379", "is there twice"},
		{"redlock://a:0,b,c", "member 1 has to be host"},
		{"redlock://a:99999,b,c", "member 1 has to be host"},
		{"redlock://fd00::1,b,c", "member 1 has to be host"},
		{"redlock://a b,b,c", "member 1 has to be host"},
		{"redlock://user@a,b,c", "no password"},
		{"redlock://:se%zzcret@a,b,c", "percent-encoded"},
		{"redlock://:secret/secret@a,b,c", "written as %2F"},
		{"redlock://a,b,c/x", "database number"},
		{"redlock://a,b,c/-1", "database number"},
		{"redlock://a,b,c?max_ttl=soon", "max_ttl has to be a duration"},
		{"redlock://a,b,c?max_ttl=1ms", "max_ttl has to be a duration"},
		{"redlock://a,b,c?max_ttl=1s&max_ttl=2s", "max_ttl is given 2 times"},
		{"redlock://a,b,c?tls=maybe", "tls has to be true or false"},
		{"redlock://a,b,c?ca_file=/x", "need tls=true"},
		{"redlock://a,b,c?tls=true&ca_file=/nonexistent", "ca_file: open"},
		{"redlock://a,b,c?tls=true&cert_file=/x", "belong together"},
		{"redlock://a,b,c?max_retries=3", "unknown setting"},
		{"redlock://a,b,c?%zz", "cannot be read"},
	}
	for _, tt := range tests {
		err := redlock.CheckURL(tt.url)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: err = %v, want none", tt.url, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: err = %v, want one about %q", tt.url, err, tt.want)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: err = %v, which tells the password", tt.url, err)
		}
	}
}

// What the address says of TLS is said of each server.
func TestServers(t *testing.T) {
	cert, key := servertest.Certificate(t)
	urls, longest, err := redlock.Servers("redlock://:s%2Fcret@a,b:7002,c/3?max_ttl=90s&tls=true&ca_file=" + cert + "&cert_file=" + cert + "&key_file=" + key)
	if err != nil || longest != 90*time.Second || len(urls) != 3 {
		t.Fatalf("%q, %v, %v", urls, longest, err)
	}
	u, err := url.Parse(urls[1])
	if err != nil || u.Scheme != "rediss" || u.Host != "b:7002" || u.Path != "/3" || u.User.String() != ":s%2Fcret" {
		t.Errorf("%s: %v", u, err)
	}
	if q := u.Query(); len(q) != 3 || q.Get("ca_file") != cert || q.Get("cert_file") != cert || q.Get("key_file") != key {
		t.Errorf("%v", q)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, prefix := range []string{"lockgw:x", "a{b}", "a b"} {
		if b, err := redlock.OpenTable(redlock.Config{URL: "redlock://a,b,c", KeyPrefix: prefix}); err == nil {
			_ = b.Close()
			t.Errorf("prefix %q: no error, want one", prefix)
		}
	}
	b, err := redlock.OpenTable(redlock.Config{URL: "redlock://a,b,c?max_ttl=90s"})
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Info().MaxTTL; got != 90*time.Second {
		t.Errorf("max ttl = %v, want 90 s", got)
	}
	if err := b.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
