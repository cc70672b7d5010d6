package origin

import (
	"net"
	"net/url"
	"strings"
	"testing"
)

func TestAllow(t *testing.T) {
	h := HostsOf([]string{"Gateway.Example", "10.0.0.7", "[2001:db8::7]", "2001:0DB8:0::8"})
	for _, host := range []string{
		"localhost", "LocalHost", "localhost:7420", "127.0.0.1", "127.0.0.1:80", "127.255.3.4:7420", "[::1]", "[::1]:7420",
		"gateway.example", "GATEWAY.example:443", "10.0.0.7:7420", "[2001:db8::7]", "[2001:db8::7]:7420",
		"[2001:db8::8]", "[2001:db8:0:0::7]",
	} {
		if !h.Allow(host) {
			t.Errorf("Allow(%q) = false, want true", host)
		}
	}
	for _, host := range []string{
		"", ":", ":7420", "evil.example", "localhost.evil.example", "evil.localhost", "localhost.", "0.0.0.0", "0.0.0.0:7420", "0",
		"127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::]", "[::ffff:127.0.0.1]", "[::1%lo]", "::1", "128.0.0.1", "10.0.0.8",
		"localhost:http", "localhost:", "localhost:70000", "localhost:1:2", "[::1", "[::1]x", "[localhost]", "user@localhost", "localhost/",
		"169.254.169.254", "gateway.example.evil",
	} {
		if h.Allow(host) {
			t.Errorf("Allow(%q) = true, want false", host)
		}
	}
}

// No Host other than those of the table is let in, however it is written.
func FuzzAllow(f *testing.F) {
	for _, s := range []string{"localhost:7420", "127.0.0.1", "[::1]:1", "[::ffff:127.0.0.1]", "evil.example", "[::1%lo]", ":", "[", "]:1"} {
		f.Add(s)
	}
	h := HostsOf(nil)
	f.Fuzz(func(t *testing.T, host string) {
		if !h.Allow(host) {
			return
		}
		u, err := url.Parse("http://" + host + "/")
		if err != nil {
			t.Fatalf("Allow(%q), which is no host: %v", host, err)
		}
		name := strings.ToLower(u.Hostname())
		if ip := net.ParseIP(name); name != "localhost" && (ip == nil || !ip.IsLoopback()) || u.User != nil {
			t.Errorf("Allow(%q), whose name is %q", host, name)
		}
	})
}
