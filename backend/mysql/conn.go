package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// conn is one connection, to a server that is known. It is over the driver itself: package
// database/sql sends again what it takes for unsent, and knows nothing of when.
type conn struct {
	driver.Conn
	server server
	guard  string // is true where the connection leads to the server, with the settings of hello
	thread uint64 // of the server, that carries out its statements
	broken bool
}

// server is what a connection was told of the server that it leads to.
type server struct {
	version  string
	identity string // of this run of it: which server, when it was started, and which of its databases
	counted  int64  // statements of all clients, in this run of it
	address  string // as the server itself sees it
	tls      bool

	variables map[string]string // in lower case
	frozen    bool              // SYSDATE is when the statement began
	offset    int64             // of the time zone, in seconds
}

// maxPacket is the longest request: many renewals, or a record that has grown too long.
const maxPacket = 4 << 20

// helloSQL settles what statements rely on, and asks who is there, in one request: a proxy
// sends that to one server. The first %d is a number that nobody else has. Who has locked tables is
// waited for less long than a request may take, or nobody would be told why that has no answer.
var helloSQL = `SET NAMES utf8mb4;
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET SESSION autocommit = 1, time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', completion_type = 0, sql_safe_updates = 0, sql_select_limit = 18446744073709551615, sql_big_selects = 1, innodb_lock_wait_timeout = 2, lock_wait_timeout = 1 /*M! , max_statement_time = 0 */ /*!80000 , max_execution_time = 0 */, @lockgw_session = %d;
SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid', 'read_only', 'super_read_only', 'innodb_read_only', 'innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', 'wsrep_on', 'group_replication_single_primary_mode');
SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_size', 'wsrep_ready', 'Ssl_version');
SHOW SESSION STATUS WHERE Variable_name = 'Ssl_version';
SELECT CONNECTION_ID(), VERSION(), @@hostname, @@port, @@server_id, IFNULL(UNIX_TIMESTAMP() - ` + statusOf("Uptime") + `, UUID_SHORT() >> 24), ` + statusOf("Queries") + `,
	TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), NOW()), SLEEP(0.001) + (SYSDATE(6) = NOW(6)), LOWER(DATABASE())`

// connect makes a connection to the host of cfg.
func connect(ctx context.Context, cfg *mysql.Config) (*conn, error) {
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*cfg.Timeout)
	defer cancel()
	dc, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: dc}
	if err := c.hello(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func (c *conn) hello(ctx context.Context) error {
	nonce := rand.Int64N(1<<62) + 1
	got, err := c.query(ctx, fmt.Sprintf(helloSQL, nonce))
	if err != nil {
		return err
	}
	if len(got) != 4 || len(got[3]) != 1 {
		return fmt.Errorf("%w: it does not answer like MySQL or MariaDB", backend.ErrRefused)
	}
	s := &c.server
	s.variables = map[string]string{}
	for _, one := range got[:3] {
		for _, row := range one {
			s.variables[strings.ToLower(string(row[0]))] = string(row[1])
		}
	}
	s.tls = len(got[2]) == 1 && len(got[2][0][1]) > 0
	r := sqltable.NewReader(got[3][0])
	c.thread = uint64(r.Number())
	s.version = r.Text()
	host, port, id, started := r.Text(), r.Number(), r.Number(), r.Number()
	s.counted = r.Number()
	s.offset, s.frozen = r.Number(), r.Number() != 0
	s.address = host + ":" + strconv.FormatInt(port, 10)
	s.identity = fmt.Sprintf("%s%s %s %d %d %s", s.variables["server_uuid"], s.variables["server_uid"], s.address, id, started, r.Text())
	c.guard = fmt.Sprintf("(@lockgw_session = %d AND @@server_id = %d AND @@port = %d AND @@hostname = 0x%x)", nonce, id, port, host)
	return errors.Join(r.Err, s.serves())
}

// query carries out statements and returns the rows of those that tell any.
func (c *conn) query(ctx context.Context, sql string, args ...any) (all []sqltable.Rows, err error) {
	defer func() { c.see(err, strings.HasPrefix(sql, begin)) }()
	q := strings.ReplaceAll(sql, "{guard}", c.guard)
	got, err := c.Conn.(driver.QueryerContext).QueryContext(ctx, q, named(args))
	if err != nil {
		return nil, err
	}
	defer got.Close()
	next, ok := got.(driver.RowsNextResultSet)
	if !ok {
		return nil, errors.New("the driver knows no second result")
	}
	for {
		one, err := readAll(got)
		if err != nil {
			return nil, err
		}
		if len(got.Columns()) > 0 {
			all = append(all, one)
		}
		if !next.HasNextResultSet() {
			return all, nil
		}
		if err := next.NextResultSet(); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
	}
}

func readAll(from driver.Rows) (got sqltable.Rows, err error) {
	n := len(from.Columns())
	if n == 0 {
		return nil, nil
	}
	for {
		into := make([]driver.Value, n)
		if err := from.Next(into); errors.Is(err, io.EOF) {
			return got, nil
		} else if err != nil {
			return nil, err
		}
		row := make([][]byte, n)
		for i, v := range into {
			row[i] = textOf(v)
		}
		got = append(got, row)
	}
}

// textOf is a value; the driver goes on to use what it is in.
func textOf(v driver.Value) []byte {
	switch v := v.(type) {
	case nil:
		return nil
	case []byte:
		return append([]byte{}, v...)
	default:
		return fmt.Append(nil, v)
	}
}

// exec carries out one statement that tells nothing: how many rows it has changed, and the
// number that it has given to LAST_INSERT_ID.
func (c *conn) exec(ctx context.Context, sql string, args ...any) (changed, last int64, err error) {
	defer func() { c.see(err, false) }()
	q := strings.ReplaceAll(sql, "{guard}", c.guard)
	r, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, q, named(args))
	if err != nil {
		return 0, 0, err
	}
	if changed, err = r.RowsAffected(); err == nil {
		last, err = r.LastInsertId()
	}
	return changed, last, err
}

// see notes that the connection is of no use after err: it broke, or a transaction was left in
// the middle.
func (c *conn) see(err error, transaction bool) {
	var server *mysql.MySQLError
	if err != nil && (transaction || !errors.As(err, &server)) {
		c.broken = true
	}
}

// named are args as the driver takes them: a []byte is binary, a string is UTF-8.
func named(args []any) []driver.NamedValue {
	all := make([]driver.NamedValue, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case int:
			a = int64(v)
		case bool:
			a = int64(0)
			if v {
				a = int64(1)
			}
		}
		all[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	return all
}
