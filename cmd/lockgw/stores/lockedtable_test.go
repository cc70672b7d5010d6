package stores

import (
	"database/sql"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
	"github.com/lockgw/lockgw/socket/client"
)

// A database of which somebody has locked a table answers, and lets writes wait. It is no ready one
// once that was noticed, until the table is free, and who asks is told why.
func TestTableIsLocked(t *testing.T) {
	for name, begin := range map[string]func(t *testing.T) (url string, lock, unlock func()){
		"postgres": postgresToLock, "mysql": mysqlToLock,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, lock, unlock := begin(t)
			g := start(t, "a", url, ttl)
			g.until(t, http.StatusOK, "")
			lock()
			const says = "somebody has locked the row"
			if _, err := g.dial(t, "").Lock(t.Context(), "new", client.LockOptions{}); !errors.Is(err, client.ErrUnavailable) || !strings.Contains(err.Error(), says) {
				t.Errorf("a new lock: %v", err)
			}
			g.until(t, http.StatusServiceUnavailable, says)
			if code, out := g.doctor(t); code == 0 || !strings.Contains(out, says) {
				t.Errorf("doctor: exit code %d\n%s", code, out)
			}
			unlock()
			g.until(t, http.StatusOK, "")
			g.comesIn(t, "new")
		})
	}
}

func postgresToLock(t *testing.T) (url string, lock, unlock func()) {
	s := pgtest.Start(t)
	c, err := pgconn.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(t.Context()) })
	do := func(statement string) func() {
		return func() {
			if _, err := c.Exec(t.Context(), statement).ReadAll(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s.URL(), do("BEGIN; LOCK TABLE lockgw.names IN SHARE MODE"), do("COMMIT")
}

func mysqlToLock(t *testing.T) (url string, lock, unlock func()) {
	s := mysqltest.Start(t)
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr = "root", "tcp", s.Addr
	db, err := sql.Open("mysql", cfg.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	do := func(statement string) func() {
		return func() {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s.URL(), do("LOCK TABLES locks.lockgw_names READ"), do("UNLOCK TABLES")
}
