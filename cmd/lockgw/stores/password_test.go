package stores

import (
	"database/sql"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/go-zookeeper/zk"
	"github.com/jackc/pgx/v5/pgconn"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend/etcd/etcdtest"
	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/backend/zookeeper/zktest"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

const (
	password = "ses/ame:@#1"
	wrong    = "mistaken/word"
)

// locked are stores that ask for that password: the address of a user who has it.
var locked = map[string]func(t *testing.T) (url string){
	"redis": func(t *testing.T) string {
		return redistest.Start(t, "--requirepass", password).URL()
	},
	"redlock": func(t *testing.T) string {
		var hosts []string
		for range 3 {
			hosts = append(hosts, redistest.Start(t, "--requirepass", password).Addr)
		}
		return "redlock://" + strings.Join(hosts, ",")
	},
	"postgres": func(t *testing.T) string {
		s := pgtest.Start(t)
		c, err := pgconn.Connect(t.Context(), s.URL())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(t.Context())
		if _, err := c.Exec(t.Context(), "CREATE ROLE locker LOGIN PASSWORD '"+password+"'; GRANT CREATE ON DATABASE postgres TO locker").ReadAll(); err != nil {
			t.Fatal(err)
		}
		s.HBA("host all locker 127.0.0.1/32 scram-sha-256")
		return strings.Replace(s.URL(), "postgres@", "locker@", 1)
	},
	"mysql": func(t *testing.T) string {
		s := mysqltest.Start(t)
		cfg := mysql.NewConfig()
		cfg.User, cfg.Net, cfg.Addr = "root", "tcp", s.Addr
		db, err := sql.Open("mysql", cfg.FormatDSN())
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, do := range []string{"CREATE USER locker@'%' IDENTIFIED BY '" + password + "'", "GRANT ALL ON locks.* TO locker@'%'"} {
			if _, err := db.ExecContext(t.Context(), do); err != nil {
				t.Fatal(err)
			}
		}
		return s.At("locker", "locks")
	},
	"etcd": func(t *testing.T) string {
		s := etcdtest.Start(t, "--bcrypt-cost", "4")
		c, ctx := etcdtest.Client(t, s), t.Context()
		_, err := c.UserAdd(ctx, "root", "root")
		for _, do := range []func() error{
			func() error { _, err := c.UserGrantRole(ctx, "root", "root"); return err },
			func() error { _, err := c.RoleAdd(ctx, "lockgw"); return err },
			func() error {
				_, err := c.RoleGrantPermission(ctx, "lockgw", "lockgw/", clientv3.GetPrefixRangeEnd("lockgw/"), clientv3.PermissionType(clientv3.PermReadWrite))
				return err
			},
			func() error { _, err := c.UserAdd(ctx, "locker", password); return err },
			func() error { _, err := c.UserGrantRole(ctx, "locker", "lockgw"); return err },
			func() error { _, err := c.AuthEnable(ctx); return err },
		} {
			if err == nil {
				err = do()
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return strings.Replace(etcdtest.URL(s), "etcd://", "etcd://locker@", 1)
	},
	"zookeeper": func(t *testing.T) string { // which lets everybody log in: the znode has the password
		s := zktest.Start(t)
		if _, err := zktest.Client(t, s).Create("/lockgw", nil, 0, zk.DigestACL(zk.PermRead|zk.PermWrite|zk.PermCreate|zk.PermDelete, "locker", password)); err != nil {
			t.Fatal(err)
		}
		return "zookeeper://locker@" + s.Addr + "?tick=200ms"
	},
}

// The password of a store is in a file; whoever looks is told that it is wrong, and never what
// it is.
func TestPasswordFile(t *testing.T) {
	for _, scheme := range schemes {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			file := e2e.SecretFile(t, wrong+"\n")
			g := prepare(t, "a", locked[scheme](t)+`", password_file: "`+file, ttl)
			if err := g.Start(); err != nil {
				t.Fatal(err)
			}
			e2e.Until(func() bool {
				resp, err := g.HTTP.Get("http://lockgw/livez")
				return err == nil && resp.Body.Close() == nil
			})
			g.until(t, http.StatusServiceUnavailable, `"name":"store","ok":false`)
			_, said := g.get(t, "/readyz?verbose")
			code, found := g.doctor(t)
			if code == 0 {
				t.Errorf("doctor finds nothing:\n%s", found)
			}
			if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			g.Kill()
			g.again(t)
			g.dial(t, "").lock(t, "nightly", 0)
			code, well := g.doctor(t)
			if code != 0 {
				t.Errorf("doctor: exit code %d\n%s", code, well)
			}
			for what, text := range map[string]string{"/readyz": said, "doctor": found + well, "the log": g.Log()} {
				if strings.Contains(text, password) || strings.Contains(text, wrong) {
					t.Errorf("%s tells the password: %s", what, text)
				}
			}
		})
	}
}
