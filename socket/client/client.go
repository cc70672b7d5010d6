// Package client speaks to a lockgw gateway from Go, over its Unix socket resp.sock.
//
// A [Client] is a connection, and the connection is the session that holds locks: when it
// ends, by [Client.Close], by the end of the process or because the gateway is gone, so
// does the session, and what it held is given to others. So there is no lock that
// outlives the program by accident. A program whose locks are to outlive a connection
// opens a session with a token ([Client.NewSession], [Client.BindSession]) and joins it
// again with [Options.Token].
//
// The gateway renews the lease of a hold by itself. When that goes wrong it tells
// [Options.OnNotice], first that the hold is in jeopardy, later perhaps that it is lost.
// Whoever must not work on for a moment beyond the end of a hold compares the clock
// CLOCK_BOOTTIME with [Hold.Deadline], or hands [Hold.Fence] on to what it works on.
//
// Errors of the gateway are [*Error], and match the sentinels of this package by
// [errors.Is]; everything else is an error of the connection or of the context.
package client

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/lockgw/lockgw/socket/resp"
)

// Notice tells that a hold of the session is in jeopardy or lost.
type Notice struct {
	Kind   State // Jeopardy or Lost
	Lock   string
	Fence  uint64
	Reason string
}

// Options of Dial. The functions are called one at a time by the
// goroutine that reads the connection; they must not block or call the Client.
type Options struct {
	// Token joins the session of that token; otherwise the connection is a
	// session of its own, opened by the first call that needs one.
	Token Token
	// Patience, if set, is how long a call waits for its answer, besides the wait that it asks
	// for. One that gets none ends as if its context had.
	Patience time.Duration
	// OnNotice, if set, is called for the holds of the session.
	OnNotice func(Notice)
	// OnMessage, if set, is called for subscribed channels. payload is JSON.
	OnMessage func(channel, payload string)
}

// Client is a connection to a gateway, which Dial makes: the zero Client is a closed one. Its
// session lives by the connection, unless the session has another proof of life. Calls may be
// made by many goroutines at once; they are answered in the order in which they were made, so
// one that waits holds up those after it.
//
// When the context of a call ends before the answer, the Client closes the
// connection, because nothing else takes the request back.
type Client struct {
	nc      net.Conn
	options Options

	write chan struct{} // of capacity 1; full from taking a place in calls to the end of the write
	calls chan *call    // unanswered, in order

	reader sync.WaitGroup
	closed sync.Once
	done   chan struct{}
	err    error // set before done is closed
}

type call struct {
	reply any
	err   error
	done  chan struct{}
}

// What the wire names, and how many calls may be unanswered.
const (
	noticeKind = "lockgw"    // the first value of the pushes about holds
	onlyUser   = "default"   // the token says who somebody is
	maxPending = 64          // of one connection; the gateway takes no more
	lastWords  = time.Second // for reading what was sent before the gateway hung up; it is here already
)

// Dial connects to the gateway whose socket is at path, /run/lockgw/resp.sock unless it is
// configured otherwise. ctx bounds the dialling alone.
func Dial(ctx context.Context, path string, o Options) (*Client, error) {
	nc, err := connect(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	c := newClient(nc, o)
	hello := []string{"HELLO", "3"}
	if o.Token != "" {
		hello = append(hello, "AUTH", onlyUser, o.Token.Secret())
	}
	if _, err := c.Do(ctx, hello...); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func newClient(nc net.Conn, o Options) *Client {
	c := &Client{nc: nc, options: o, write: make(chan struct{}, 1), calls: make(chan *call, maxPending), done: make(chan struct{})}
	c.reader.Go(c.read)
	return c
}

// Done is closed when the connection is over; what the session held is being
// released then, unless it has another proof of life.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err says why the connection is over, nil while it is not.
func (c *Client) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Close ends the connection and every call with ErrClosed.
func (c *Client) Close() error {
	if c.nc == nil {
		return nil
	}
	c.fail(ErrClosed)
	c.reader.Wait()
	return nil
}

// Do sends a command and returns its reply as resp.ReadReply does; an error reply
// is an *Error. SUBSCRIBE and the like have an answer for each channel, so that they take one
// in each call.
func (c *Client) Do(ctx context.Context, args ...string) (any, error) { return c.do(ctx, 0, args) }

// do is Do of a command that waits for so long by itself.
func (c *Client) do(ctx context.Context, wait time.Duration, args []string) (any, error) {
	if c.nc == nil {
		return nil, fmt.Errorf("%w: it was never connected; Dial makes a Client", ErrClosed)
	}
	if p := c.options.Patience; p > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, max(p, wait, wait+p)) // the sum may be too large for a Duration
		defer cancel()
	}
	if len(args) == 0 { // the gateway answers nothing, and the next reply would be taken for the answer
		return nil, fmt.Errorf("%w: no command", ErrInvalid)
	}
	if len(args) != 2 && strings.HasSuffix(strings.ToUpper(args[0]), "SUBSCRIBE") {
		return nil, fmt.Errorf("%w: %s with %d channels: name one in each call", ErrInvalid, args[0], len(args)-1)
	}
	var w resp.Writer
	w.Array(len(args))
	for _, a := range args {
		w.Bulk(a)
	}
	if n := len(w.Bytes()); n > resp.MaxRequest || len(args) > resp.MaxArgs { // the gateway would hang up, and the session end by that
		return nil, &Error{Word: "INVALID", Text: fmt.Sprintf("request: has %d bytes in %d arguments, the limits are %d bytes and %d arguments", n, len(args), resp.MaxRequest, resp.MaxArgs)}
	}
	k := &call{done: make(chan struct{})}
	if err := c.send(ctx, k, w.Bytes()); err != nil {
		return nil, err
	}
	select {
	case <-k.done:
		if errors.Is(k.err, errGivenUp) { // by another call with the same context, perhaps
			return nil, cmp.Or(ctx.Err(), k.err)
		}
		return k.reply, k.err
	case <-ctx.Done():
		c.fail(errGivenUp)
		return nil, ctx.Err()
	}
}

func (c *Client) send(ctx context.Context, k *call, b []byte) error {
	select {
	case c.write <- struct{}{}:
		defer func() { <-c.write }()
	case <-ctx.Done():
		return ctx.Err()
	case <-c.done:
		return cmp.Or(ctx.Err(), c.err)
	}
	if err := cmp.Or(ctx.Err(), c.Err()); err != nil { // the selects choose at random, and what was sent costs the connection
		return err
	}
	select {
	case c.calls <- k:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.done:
		return cmp.Or(ctx.Err(), c.err)
	}
	stop := context.AfterFunc(ctx, func() { c.fail(errGivenUp) })
	_, err := c.nc.Write(b)
	switch {
	case !stop(): // the connection ends, even if there is an answer already
		c.fail(errGivenUp) // who is told of the end of the call may ask for Err at once
		return ctx.Err()
	case err != nil: // why the gateway has hung up may be still to be read
		_ = c.nc.SetReadDeadline(time.Now().Add(lastWords))
	}
	return nil
}

func (c *Client) fail(err error) {
	c.closed.Do(func() {
		c.err = err
		close(c.done)
		c.nc.Close()
	})
}

func (c *Client) read() {
	r := bufio.NewReader(c.nc)
	for {
		v, err := resp.ReadReply(r)
		if err != nil {
			c.fail(readError(err))
			c.abandon()
			return
		}
		if p, ok := v.(resp.Push); ok && !confirms(p) {
			c.pushed(p)
			continue
		}
		select {
		case k := <-c.calls:
			k.answer(v, nil)
		default: // a gateway that refuses a connection waits for no request
			if e, ok := v.(resp.Error); ok {
				c.fail(errorOf(e))
			} else {
				c.fail(fmt.Errorf("gateway: a reply that answers nothing: %.64v", v))
			}
		}
	}
}

func readError(err error) error {
	if _, bad := errors.AsType[resp.ProtocolError](err); bad {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return fmt.Errorf("gateway closed the connection: %w", err)
}

// abandon ends the calls that get no answer any more. None is added later: whoever may write
// sees then that the connection is over.
func (c *Client) abandon() {
	c.write <- struct{}{}
	defer func() { <-c.write }()
	for {
		select {
		case k := <-c.calls:
			k.answer(nil, c.err)
		default:
			return
		}
	}
}

func (k *call) answer(v any, err error) {
	if e, ok := v.(resp.Error); ok {
		v, err = nil, errorOf(e)
	}
	k.reply, k.err = v, err
	close(k.done)
}

// confirms tells whether p is the answer to a SUBSCRIBE and the like.
func confirms(p resp.Push) bool {
	if len(p) == 0 {
		return false
	}
	kind, _ := p[0].(string)
	return strings.HasSuffix(kind, "subscribe")
}

func (c *Client) pushed(p resp.Push) {
	s := make([]string, len(p))
	for i := range p {
		s[i] = fmt.Sprint(p[i])
	}
	switch {
	case len(s) == 5 && s[0] == noticeKind && c.options.OnNotice != nil:
		fence, _ := p[3].(int64)
		c.options.OnNotice(Notice{Kind: State(s[1]), Lock: s[2], Fence: uint64(fence), Reason: s[4]})
	case len(s) >= 3 && strings.HasSuffix(s[0], "message") && c.options.OnMessage != nil:
		c.options.OnMessage(s[len(s)-2], s[len(s)-1])
	}
}
