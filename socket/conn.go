package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend/eager"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
	"github.com/lockgw/lockgw/session/peer"
	"github.com/lockgw/lockgw/socket/resp"
)

const (
	// maxQueue is how many commands may wait behind one that is being executed.
	maxQueue = 64
	// maxEmpty is how many empty commands may follow each other.
	maxEmpty = 100
	// patience is how long a command may keep the connection from being read, or twice as
	// long (handOver). A healthy store answers sooner even where many ask, so another
	// goroutine rarely has to read.
	patience = 20 * time.Millisecond
)

// conn is a connection. See the package's documentation for its goroutines.
type conn struct {
	srv   *Server
	nc    net.Conn
	id    int64
	peer  session.Peer
	use   *peer.Use // of the descriptor of nc
	since time.Time
	// accepted is since on CLOCK_BOOTTIME.
	accepted time.Duration
	ctx      context.Context    // done when the client is gone
	cancel   context.CancelFunc // see gone
	out      *output

	// Of the goroutine that reads.
	in       *resp.Reader
	hurried  bool // the read has a deadline, for the command that has begun
	complete bool // a command was read since the last Fill

	// Of the goroutine that executes.
	w        resp.Writer // the answer under construction
	by       access.Caller
	name     string
	library  string
	version  string
	joined   *session.Session // nil: none
	failures int              // attempts to authenticate
	goodbye  bool             // hang up after this answer
	subs     *subscriptions
	multi    transaction

	mu      sync.Mutex      // guards the fields below
	room    chan struct{}   // of capacity 1: the queue has become shorter; nil: nobody waits for that
	working bool            // a command is being executed that may take long
	begun   uint32          // how many of those there were
	patient *time.Timer     // runs handOver; nil: not yet, or a command waits
	pending bool            // it will run
	looked  uint32          // begun, when it was set or ran
	apart   bool            // one goroutine reads, and another executes
	unread  bool            // nobody reads any more
	ending  bool            // nothing is executed any more
	stopped bool            // by the Server, not by the client
	queue   [][]string      // commands read while apart
	waits   *session.Waiter // of the command that waits; nil: none
}

func newConn(s *Server, nc net.Conn, p session.Peer, id int64) *conn {
	c := &conn{srv: s, nc: nc, id: id, peer: p, since: time.Now(), accepted: session.Boottime(), in: resp.NewReader(eager.Client(nc))}
	c.by = access.Of(nc, p)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.out = newOutput(nc, s.cfg.Limits.Output, s.cfg.Limits.Write)
	return c
}

// serve reads and executes commands until the connection is over, or until
// another goroutine reads and nothing is left to be executed.
func (c *conn) serve() {
	for {
		args, err := c.next()
		if err == nil {
			err = c.take(args)
		}
		switch {
		case errors.Is(err, errApart):
			c.catchUp()
			return
		case errors.Is(err, errParked):
			c.srv.running.Go(c.serve) // on a small stack: this one has grown
			return
		case errors.Is(err, errLeft):
			c.out.flush()
			return
		case err != nil:
			c.over(err)
			return
		}
	}
}

// next waits for a command. Empty commands are ignored, as Redis does. They cost the
// client nothing, so their number is bounded.
func (c *conn) next() ([]string, error) {
	for empty := 0; empty <= maxEmpty; {
		args, ok, err := c.in.Next()
		switch {
		case err != nil:
			return nil, err
		case len(args) > 0:
			c.complete = true
			return args, nil
		case ok:
			empty++
			continue
		}
		c.out.flush()
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
	return nil, resp.ProtocolError(fmt.Sprintf("more than %d empty commands in a row", maxEmpty))
}

// fill bounds the time for the rest of each command, but not that until the next one.
func (c *conn) fill() error {
	var deadline time.Time
	partial := c.in.Partial()
	if partial {
		deadline = time.Now().Add(c.srv.cfg.Limits.Read)
	}
	if partial != c.hurried || partial && c.complete {
		if err := c.nc.SetReadDeadline(deadline); err != nil {
			return err
		}
		c.hurried = partial
	}
	c.complete = false
	err := c.in.Fill()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return resp.ProtocolError("the command did not arrive as a whole within " + c.srv.cfg.Limits.Read.String())
	}
	return err
}

// execute answers a command, or leaves that to another goroutine (park), which is errParked
// or errLeft. The error is errApart when another goroutine has begun to read meanwhile.
func (c *conn) execute(args []string) error {
	cmd := c.srv.lookup(args[0])
	if cmd.slow {
		c.start()
	}
	c.w.Reset()
	err := c.guard(cmd.name, func() error { return c.run(cmd, args) })
	if errors.Is(err, errParked) || errors.Is(err, errLeft) {
		return err
	}
	c.reply(err)
	if cmd.slow {
		return c.finish()
	}
	return nil
}

// reply sends the answer that was written, or err.
func (c *conn) reply(err error) {
	if c.answer(err) {
		c.out.makeRoom()
	}
	if c.goodbye {
		c.hangUp()
	}
}

// answer adds the answer that was written, or err, to the output; full: it should be flushed.
func (c *conn) answer(err error) (full bool) {
	switch {
	case errors.Is(err, context.Canceled) && c.ctx.Err() != nil: // nobody is left to be told
		c.w.Reset()
	case err != nil:
		c.w.Reset()
		c.w.Error(errorLine(err))
	}
	full = c.out.add(c.w.Bytes())
	c.w.Reset()
	return full
}

// guard runs f and recovers from a panic: a defect in one command must not end the
// process, and with it the locks of others.
func (c *conn) guard(command string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.srv.cfg.Log.Error("command failed", "command", command, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = &session.Error{Code: session.CodeInternal, Detail: "a defect in the gateway; its log says more"}
		}
	}()
	return f()
}

func (c *conn) run(cmd *command, args []string) error {
	if err := c.check(cmd, args); err != nil {
		return err
	}
	if c.joined != nil { // a command is a sign of life
		c.joined.Touch()
	}
	return cmd.run(c, args)
}
