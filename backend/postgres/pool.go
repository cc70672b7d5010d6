package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// pool sends requests over several connections. It is over pgconn alone, the protocol: what
// pgx has above it, for values of every type, is a tenth of the program.
type pool struct {
	*sqltable.Pool[*conn]
	server *server
	// of makes SQL of a statement.
	of func(sql string) string
	// pooled: there is a pooler in between, so that a statement prepared on one connection
	// may be missing on the next.
	pooled atomic.Bool
}

// conn is one connection.
type conn struct {
	*pgconn.PgConn
	prepared map[string]string // statements by their text
}

const (
	// leastServer has AS MATERIALIZED.
	leastServer = 12
	// doubtful is how long a connection is idle before the server is asked whether it is still
	// there: what is sent over one that it has closed has no answer.
	doubtful = time.Second
)

// full: no connection more can be made.
func full(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && (server.Code == noneToSpare || poolerFull(server))
}

func newPool(a address, conns int, full func(error) bool) *pool {
	p := &pool{server: a.server, of: inSchema(a.schema)}
	p.Pool = sqltable.NewPool(sqltable.Connections[*conn]{
		Product: product,
		Make:    p.connect,
		Full:    full,
		Alive: func(ctx context.Context, c *conn, idle time.Duration) bool {
			return idle < doubtful || c.Ping(ctx) == nil
		},
		Keep: func(c *conn) bool { return !c.IsClosed() && c.TxStatus() == 'I' },
		End:  (*conn).end,
	}, conns)
	return p
}

// end closes c, and lets the server know if that is possible at once.
func (c *conn) end() {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = c.Close(ctx) // it is not used any more
}

func (p *pool) connect(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*sqltable.ConnectTimeout)
	defer cancel()
	pc, err := p.server.connect(ctx)
	if err != nil {
		return nil, notSent(err)
	}
	c := &conn{PgConn: pc, prepared: map[string]string{}}
	err = serves(pc)
	if err == nil {
		var direct bool
		switch direct, err = isDirect(ctx, pc); {
		case err != nil:
		case direct:
			_, err = pc.Exec(ctx, neverIdle+settled).ReadAll()
		default:
			p.pooled.Store(true)
		}
	}
	if err != nil {
		c.end()
		return nil, notSent(err)
	}
	return c, nil
}

// serves says why a server cannot be used, as far as it has told that by itself.
func serves(c *pgconn.PgConn) error {
	if e := c.ParameterStatus("server_encoding"); e != "" && e != "UTF8" {
		return fmt.Errorf("%w: the database has the encoding %s, which not every lock name can be written in: make one with ENCODING 'UTF8' TEMPLATE template0", backend.ErrRefused, e)
	}
	major, _, _ := strings.Cut(c.ParameterStatus("server_version"), ".")
	if n, err := strconv.Atoi(major); err == nil && n < leastServer {
		return fmt.Errorf("%w: PostgreSQL %d is too old, it has to be %d or newer", backend.ErrRefused, n, leastServer)
	}
	return nil
}

// readCommitted has a statement that has waited for a row look at what is there then, whatever the
// server is set up to: else it fails, and so do others that only seem to meet.
const readCommitted = "SET transaction_isolation = 'read committed'"

// impatient is for how long a statement waits for who has locked a row or a table: less long than a
// request may take, or nobody would be told why that has no answer, and longer than the second after
// which the server sees that two wait for each other, and has an autovacuum make way.
const impatient = "1500ms"

// impatientOnce is for one transaction, and comes after readCommitted: a pooler gives the connection
// to others.
const impatientOnce = "SELECT set_config('lock_timeout', '" + impatient + "', true)"

// settled has all transactions of a connection be so, and each statement planned once for it, and
// not anew each time, which takes longer than to carry it out: all of them find rows by their
// names. Such a plan is made while a table is perhaps empty, so it is told to use the index then,
// too; and what reads whole tables, now and then, is not worth compiling.
const settled = "SET default_transaction_isolation = 'read committed'; SET lock_timeout = '" + impatient + "'; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off"

// isDirect: the connection is to the backend that it was begun with. A pooler gives others.
func isDirect(ctx context.Context, c *pgconn.PgConn) (bool, error) {
	r := c.ExecParams(ctx, "SELECT pg_backend_pid()", nil, nil, nil, nil).Read()
	if r.Err != nil {
		return false, r.Err
	}
	return len(r.Rows) == 1 && string(r.Rows[0][0]) == strconv.FormatUint(uint64(c.PID()), 10), nil
}

// statement with its arguments.
type statement struct {
	sql  string
	args [][]byte
}

func newStatement(sql string, args ...any) statement {
	s := statement{sql: sql, args: make([][]byte, len(args))}
	for i, a := range args {
		s.args[i] = encode(a)
	}
	return s
}

// send carries out statements in one transaction, and returns the rows of each. They count
// only if the error is nil: it is that of the commit, too.
func (p *pool) send(ctx context.Context, ss ...statement) (out []sqltable.Rows, err error) {
	err = p.With(ctx, func(c *conn) (err error) {
		out, err = p.over(ctx, c, ss)
		return err
	})
	return out, err
}

func (p *pool) over(ctx context.Context, c *conn, ss []statement) ([]sqltable.Rows, error) {
	batch, pooled := &pgconn.Batch{}, p.pooled.Load()
	if pooled {
		batch.ExecParams(readCommitted, nil, nil, nil, nil)
		batch.ExecParams(impatientOnce, nil, nil, nil, nil)
	}
	for _, s := range ss {
		if pooled {
			batch.ExecParams(p.of(s.sql), s.args, nil, nil, nil)
			continue
		}
		name, err := p.prepare(ctx, c, s.sql)
		if err != nil {
			return nil, unprepared(err)
		}
		batch.ExecPrepared(name, s.args, nil, nil)
	}
	if c.IsClosed() || ctx.Err() != nil {
		return nil, fmt.Errorf("%w: the connection to PostgreSQL was closed, or the time was over, before the request was sent", backend.ErrUnreachable)
	}
	results, err := c.ExecBatch(ctx, batch).ReadAll()
	if err != nil {
		if is(err, "26000", "0A000") { // what was prepared is of no use: the tables were changed, or it is another connection
			c.end()
		}
		return nil, outcome(err)
	}
	out := make([]sqltable.Rows, len(ss))
	for i, r := range results[len(results)-len(ss):] {
		out[i] = r.Rows
	}
	return out, nil
}

func (p *pool) prepare(ctx context.Context, c *conn, sql string) (string, error) {
	if name, ok := c.prepared[sql]; ok {
		return name, nil
	}
	name := "lockgw_" + strconv.Itoa(len(c.prepared))
	if _, err := c.Prepare(ctx, name, p.of(sql), nil); err != nil {
		return "", err
	}
	c.prepared[sql] = name
	return name, nil
}

// do carries out one statement.
func (p *pool) do(ctx context.Context, sql string, args ...any) error {
	_, err := p.send(ctx, newStatement(sql, args...))
	return err
}
