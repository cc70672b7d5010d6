package stores

import (
	"context"
	"database/sql"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	goredis "github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

const next = "new/word:@#2"

// changed are how the password of the user of locked is changed at a server, and how the connections
// that were made with the one before are ended.
var changed = map[string]func(ctx context.Context, host string) error{
	"redis":   changeRedis,
	"redlock": changeRedis,
	"etcd":    changeEtcd,
	"postgres": func(ctx context.Context, host string) error {
		c, err := pgconn.Connect(ctx, "postgres://postgres@"+host+"/postgres?sslmode=disable")
		if err != nil {
			return err
		}
		defer c.Close(ctx)
		_, err = c.Exec(ctx, "ALTER ROLE locker PASSWORD '"+next+"'; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'locker'").ReadAll()
		return err
	},
	"mysql": func(ctx context.Context, host string) error {
		cfg := mysql.NewConfig()
		cfg.User, cfg.Net, cfg.Addr = "root", "tcp", host
		db, err := sql.Open("mysql", cfg.FormatDSN())
		if err != nil {
			return err
		}
		defer db.Close()
		if _, err := db.ExecContext(ctx, "ALTER USER locker@'%' IDENTIFIED BY '"+next+"'"); err != nil {
			return err
		}
		rows, err := db.QueryContext(ctx, "SELECT id FROM information_schema.processlist WHERE user = 'locker'")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			_, _ = db.ExecContext(ctx, "KILL "+id) // which may be gone
		}
		return rows.Err()
	},
}

func changeEtcd(ctx context.Context, host string) error {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + host}, Username: "root", Password: "root", Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.UserChangePassword(ctx, "locker", next)
	return err
}

func changeRedis(ctx context.Context, hosts string) error {
	for host := range strings.SplitSeq(hosts, ",") {
		c := goredis.NewClient(&goredis.Options{Addr: host, Password: password})
		defer c.Close()
		if err := c.Do(ctx, "ACL", "SETUSER", "default", "resetpass", ">"+next).Err(); err != nil {
			return err
		}
		for _, kind := range []string{"normal", "pubsub"} {
			if err := c.Do(ctx, "CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes").Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// A password that is replaced under a gateway counts for the next connection: what is held is not lost.
func TestPasswordIsReplaced(t *testing.T) {
	for scheme, change := range changed {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			file := e2e.SecretFile(t, password+"\n")
			url := locked[scheme](t)
			g := start(t, "a", url+`", password_file: "`+file, ttl)
			c := g.dial(t, "")
			c.lock(t, "nightly", 0)

			_, host, _ := strings.Cut(url, "://")
			if end := strings.IndexAny(host, "/?"); end >= 0 {
				host = host[:end]
			}
			if err := change(t.Context(), host[strings.LastIndexByte(host, '@')+1:]); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(next+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := c.renew(t, "nightly"); err != nil {
				t.Errorf("what is held cannot be renewed: %v\n%s", err, g.Log())
			}
			g.until(t, http.StatusOK, `"name":"store","ok":true`)
			g.comesIn(t, "later")
			if c.told("nightly") {
				t.Error("what is held is told lost")
			}
			if log := g.Log(); strings.Contains(log, password) || strings.Contains(log, next) {
				t.Errorf("the log tells the password: %s", log)
			}
		})
	}
}
