package history_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
)

type mysqlStore struct {
	*mysqltest.Server
	t testing.TB
}

func startMySQL(t testing.TB) store {
	t.Cleanup(mysqltest.RemoveTemplate)
	return mysqlStore{mysqltest.Start(t), t}
}

func (s mysqlStore) server() string { return s.Addr }

func (s mysqlStore) config(addr string, in scenario) string {
	guard := "none"
	if in.guarded {
		guard = "quarantine"
	}
	return fmt.Sprintf(`{url: "mysql://root@%s/locks?ssl-mode=disabled", mysql: {guard: %s}}`, addr, guard)
}

// listens: on this connection a gateway sleeps, or keeps the lock for which it waits there.
func (mysqlStore) listens(chunk []byte) bool {
	return bytes.Contains(chunk, []byte("SELECT GET_LOCK('lockgw."))
}

func (mysqlStore) scripts(testing.TB) int64 { return 0 }

func (s mysqlStore) left(ctx context.Context) (left []string) {
	err := s.ask(ctx, "SELECT CONCAT(name, ' ', record), record FROM locks.lockgw_names", func(r *sql.Rows) error {
		var text, record string
		err := r.Scan(&text, &record)
		if err == nil && !nobody(record) {
			left = append(left, text)
		}
		return err
	})
	if err != nil {
		return []string{err.Error()}
	}
	return left
}

// ask has each look at the rows, on one connection, of what the last statement tells.
func (s mysqlStore) ask(ctx context.Context, statement string, each func(*sql.Rows) error) error {
	db, err := sql.Open("mysql", "root@tcp("+s.Addr+")/")
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, statement)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// tell carries out statements on one connection.
func (s mysqlStore) tell(statements ...string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	db, err := sql.Open("mysql", "root@tcp("+s.Addr+")/")
	if err == nil {
		defer db.Close()
		db.SetMaxOpenConns(1)
		for _, one := range statements {
			if _, failed := db.ExecContext(ctx, one); failed != nil {
				err = fmt.Errorf("%s: %w", one, failed)
				break
			}
		}
	}
	if err != nil {
		s.told("MySQL", err)
	}
}

// told is what MySQL says against a statement.
func (s mysqlStore) told(statement string, err error) {
	var said *mysql.MySQLError
	const noTable, noDatabase, noThread, ended = 1146, 1049, 1094, 1927
	if errors.As(err, &said) && (said.Number == noTable || said.Number == noDatabase || said.Number == noThread || said.Number == ended) {
		return // no gateway has made the tables anew, or who was to be ended has gone, and we have its number
	}
	s.t.Errorf("nemesis: %s: %v", statement, err)
}

// slow: somebody has locked the table.
func (s mysqlStore) slow(d time.Duration) {
	s.tell("LOCK TABLES locks.lockgw_names WRITE", fmt.Sprintf("DO SLEEP(%f)", d.Seconds()), "UNLOCK TABLES")
}

// upset ends all connections.
func (s mysqlStore) upset() {
	s.end("SELECT id FROM information_schema.PROCESSLIST WHERE id <> CONNECTION_ID() AND user = 'root'")
}

func (s mysqlStore) cut() { s.end("SELECT thread FROM locks.lockgw_nodes WHERE thread > 0") }

// end ends the connections whose numbers are asked for.
func (s mysqlStore) end(which string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var ids []int64
	err := s.ask(ctx, which, func(r *sql.Rows) error {
		var id int64
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	})
	if err != nil {
		s.told(which, err)
	}
	for _, id := range ids {
		s.tell(fmt.Sprintf("KILL CONNECTION %d", id))
	}
}

func (s mysqlStore) restart() bool {
	s.Restart()
	return true
}

func (s mysqlStore) forget() { s.RestartEmpty() }
