package stores

import (
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend/etcd/etcdtest"
	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/backend/zookeeper/zktest"
)

// server is a store of one server, or of three.
type server struct {
	url           string
	pause, resume func()
	kill, back    func() // back starts it again, with what it has kept
	goesOn        bool   // where it is killed, for others are left
}

// schemes are those of backend.url that gateways of several machines share, in the order in
// which TestMove goes through them.
var schemes = []string{"redis", "redlock", "postgres", "mysql", "etcd", "zookeeper"}

var servers = map[string]func(t *testing.T) server{
	"redis": func(t *testing.T) server {
		s := redistest.Start(t)
		return server{url: s.URL(), pause: s.Pause, resume: s.Resume, kill: s.Kill, back: s.Restart}
	},
	"redlock": func(t *testing.T) server {
		var all []*redistest.Server
		var hosts []string
		for range 3 {
			s := redistest.Start(t)
			all, hosts = append(all, s), append(hosts, s.Addr)
		}
		each := func(do func(*redistest.Server)) func() {
			return func() {
				for _, s := range all {
					do(s)
				}
			}
		}
		return server{
			url: "redlock://" + strings.Join(hosts, ","), goesOn: true,
			pause: each((*redistest.Server).Pause), resume: each((*redistest.Server).Resume), kill: all[0].Kill, back: all[0].Restart,
		}
	},
	"postgres": func(t *testing.T) server {
		s := pgtest.Start(t)
		return server{url: s.URL(), pause: s.Pause, resume: s.Resume, kill: s.Kill, back: s.Launch}
	},
	"mysql": func(t *testing.T) server {
		s := mysqltest.Start(t)
		return server{url: s.URL(), pause: s.Pause, resume: s.Resume, kill: s.Kill, back: s.Restart}
	},
	"etcd": func(t *testing.T) server {
		s := etcdtest.Start(t)
		return server{url: etcdtest.URL(s), pause: s.Pause, resume: s.Resume, kill: s.Kill, back: s.Restart}
	},
	"zookeeper": func(t *testing.T) server {
		s := zktest.Start(t)
		return server{url: "zookeeper://" + s.Addr + "?tick=200ms", pause: s.Pause, resume: s.Resume, kill: s.Kill, back: s.Restart}
	},
}
