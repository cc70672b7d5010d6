package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockgw/lockgw/backend"
)

// pool sends requests over several connections. It is over pgconn alone, the protocol: what
// pgx has above it, for values of every type, is a tenth of the program.
type pool struct {
	cfg    *pgconn.Config
	free   chan struct{} // as many as connections may still be used
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	// pooled: there is a pooler in between, so that a statement prepared on one connection
	// may be missing on the next.
	pooled atomic.Bool

	mu   sync.Mutex // guards the fields below
	idle []*conn    // the one used last at the end
	age  int        // grows with each reset
}

// conn is one connection.
type conn struct {
	*pgconn.PgConn
	age      int
	used     time.Time
	prepared map[string]string // statements by their text
}

const (
	// leastServer has AS MATERIALIZED.
	leastServer = 12
	// doubtful is how long a connection is idle before the server is asked whether it is still
	// there: what is sent over one that it has closed has no answer.
	doubtful = time.Second
)

func newPool(cfg *pgconn.Config, conns int) *pool {
	p := &pool{cfg: cfg, free: make(chan struct{}, conns)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	for range conns {
		p.free <- struct{}{}
	}
	return p
}

// close ends the connections that are not in use, and waits for those that are being made.
func (p *pool) close() {
	p.cancel()
	p.reset()
	p.wg.Wait()
	p.reset()
}

// reset has all connections made anew.
func (p *pool) reset() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.age = nil, p.age+1
	p.mu.Unlock()
	for _, c := range idle {
		c.end()
	}
}

// end closes c, and lets the server know if that is possible at once.
func (c *conn) end() {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = c.Close(ctx) // it is not used any more
}

// acquire takes a connection, or makes one. Nothing was sent if there is an error.
func (p *pool) acquire(ctx context.Context) (*conn, error) {
	select {
	case <-p.free:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: no connection to PostgreSQL was free in time", backend.ErrRefused)
	}
	for c := p.pop(); c != nil; c = p.pop() {
		if time.Since(c.used) < doubtful || c.Ping(ctx) == nil {
			return c, nil
		}
		c.end()
	}
	return p.dial(ctx)
}

func (p *pool) pop() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	c := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return c
}

// dial makes a connection. If that takes longer than ctx, which it does where the first of
// several hosts is silent, the next request gets it.
func (p *pool) dial(ctx context.Context) (*conn, error) {
	type result struct {
		c   *conn
		err error
	}
	done := make(chan result, 1)
	p.wg.Go(func() {
		ctx, cancel := context.WithTimeout(p.ctx, 10*connectTimeout)
		defer cancel()
		c, err := p.connect(ctx)
		done <- result{c, err}
	})
	select {
	case r := <-done:
		if r.err != nil {
			p.free <- struct{}{}
			return nil, notSent(r.err)
		}
		return r.c, nil
	case <-ctx.Done():
		p.wg.Go(func() {
			if r := <-done; r.err == nil {
				p.release(r.c)
			} else {
				p.free <- struct{}{}
			}
		})
		return nil, fmt.Errorf("%w: PostgreSQL does not take a connection", backend.ErrUnreachable)
	}
}

func (p *pool) connect(ctx context.Context) (*conn, error) {
	p.mu.Lock()
	age := p.age
	p.mu.Unlock()
	pc, err := pgconn.ConnectConfig(ctx, p.cfg)
	if err != nil {
		return nil, err
	}
	c := &conn{PgConn: pc, age: age, used: time.Now(), prepared: map[string]string{}}
	err = serves(pc)
	if err == nil {
		var direct bool
		if direct, err = isDirect(ctx, pc); err == nil && !direct {
			p.pooled.Store(true)
		}
	}
	if err != nil {
		c.end()
		return nil, err
	}
	return c, nil
}

// release gives a connection back, unless it is of no use any more.
func (p *pool) release(c *conn) {
	c.used = time.Now()
	p.mu.Lock()
	keep := !c.IsClosed() && c.TxStatus() == 'I' && c.age == p.age && p.ctx.Err() == nil
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		c.end()
	}
	p.free <- struct{}{}
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
func (p *pool) send(ctx context.Context, ss ...statement) ([]rows, error) {
	c, err := p.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer p.release(c)
	batch := &pgconn.Batch{}
	for _, s := range ss {
		if p.pooled.Load() {
			batch.ExecParams(s.sql, s.args, nil, nil, nil)
			continue
		}
		name, err := c.prepare(ctx, s.sql)
		if err != nil {
			return nil, unprepared(err)
		}
		batch.ExecPrepared(name, s.args, nil, nil)
	}
	if c.IsClosed() || ctx.Err() != nil {
		return nil, fmt.Errorf("%w: the connection to PostgreSQL was closed, or the time was over, before the request was sent", backend.ErrRefused)
	}
	results, err := c.ExecBatch(ctx, batch).ReadAll()
	if err != nil {
		if staleStatement(err) { // the tables were changed, or the connection is another one
			c.end()
		}
		return nil, outcome(err)
	}
	out := make([]rows, len(results))
	for i, r := range results {
		out[i] = r.Rows
	}
	return out, nil
}

func (c *conn) prepare(ctx context.Context, sql string) (string, error) {
	if name, ok := c.prepared[sql]; ok {
		return name, nil
	}
	name := "lockgw_" + strconv.Itoa(len(c.prepared))
	if _, err := c.Prepare(ctx, name, sql, nil); err != nil {
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
