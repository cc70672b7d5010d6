package history_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockgw/lockgw/backend/postgres/pgtest"
)

type postgresStore struct {
	*pgtest.Server
	t testing.TB
}

func startPostgres(t testing.TB) store {
	t.Cleanup(pgtest.RemoveTemplate)
	// Connections that are cut off without a word stay for long.
	return postgresStore{pgtest.Start(t, "max_connections=500"), t}
}

func (s postgresStore) server() string { return s.Addr }

func (s postgresStore) config(addr string, in scenario) string {
	guard := "none"
	if in.guarded {
		guard = "quarantine"
	}
	return fmt.Sprintf(`{url: "postgres://postgres@%s/postgres?sslmode=disable", postgres: {guard: %s}}`, addr, guard)
}

func (postgresStore) listens(chunk []byte) bool { return bytes.Contains(chunk, []byte(`LISTEN "`)) }

func (postgresStore) scripts(testing.TB) int64 { return 0 }

func (s postgresStore) left(ctx context.Context) (left []string) {
	rows, err := s.ask(ctx, `SELECT name, record FROM lockgw.names`)
	if err != nil {
		return []string{err.Error()}
	}
	for _, r := range rows {
		if !nobody(string(r[1])) {
			left = append(left, fmt.Sprintf("%s %s", r[0], r[1]))
		}
	}
	return left
}

func (s postgresStore) ask(ctx context.Context, sql string) ([][][]byte, error) {
	c, err := pgconn.Connect(ctx, s.URL())
	if err != nil {
		return nil, err
	}
	defer c.Close(ctx)
	results, err := c.Exec(ctx, sql).ReadAll()
	if err != nil || len(results) == 0 {
		return nil, err
	}
	return results[0].Rows, nil
}

func (s postgresStore) tell(sql string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err := s.ask(ctx, sql)
	var said *pgconn.PgError
	if err != nil && (!errors.As(err, &said) || said.Code != "42P01") { // no gateway has made the tables anew
		s.t.Errorf("nemesis: %s: %v", sql, err)
	}
}

// slow: somebody has locked the table.
func (s postgresStore) slow(d time.Duration) {
	s.tell(fmt.Sprintf("BEGIN; LOCK TABLE lockgw.names; SELECT pg_sleep(%f); COMMIT", d.Seconds()))
}

// upset ends all connections.
func (s postgresStore) upset() {
	s.tell("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
}

func (s postgresStore) cut() { s.tell("SELECT pg_terminate_backend(pid) FROM lockgw.nodes") }

// restart loses what was committed without waiting for the log.
func (s postgresStore) restart() bool {
	s.Restart()
	return true
}

func (s postgresStore) forget() { s.RestartEmpty() }
