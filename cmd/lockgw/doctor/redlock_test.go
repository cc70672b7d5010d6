package doctor

import (
	"net"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend/redis/examine"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
)

func TestDoctorOfRedlock(t *testing.T) {
	var hosts []string
	var servers []*redistest.Server
	for range 3 {
		s := redistest.Start(t)
		hosts, servers = append(hosts, s.Addr), append(servers, s)
	}
	c := config.Backend{URL: "redlock://" + strings.Join(hosts, ",")}
	failing := func() map[string]bool {
		got := map[string]bool{}
		for _, f := range examineStore(t.Context(), c, 0) {
			server, _, _ := strings.Cut(f.Check, ":")
			got[server] = got[server] || f.Level == examine.Fail
		}
		return got
	}
	if got := failing(); len(got) != 3 || got["server 1"] || got["server 2"] || got["server 3"] {
		t.Errorf("failing = %v, want none of three", got)
	}
	_, port, _ := net.SplitHostPort(hosts[0])
	c.URL = "redlock://" + strings.Join([]string{hosts[0], hosts[1], "localhost:" + port}, ",")
	if got := failing(); !got["address"] {
		t.Errorf("failing = %v, want that one server is named twice", got)
	}
	c.URL = "redlock://" + strings.Join(hosts, ",")
	servers[1].Kill()
	if got := failing(); len(got) != 3 || got["server 1"] || !got["server 2"] || got["server 3"] {
		t.Errorf("failing = %v with the second server down, want that one alone", got)
	}
	c.URL = "redlock://a,b"
	if f := examineStore(t.Context(), c, 0); len(f) != 1 || f[0].Level != examine.Fail {
		t.Errorf("two servers: %v, want one failure", f)
	}
}
