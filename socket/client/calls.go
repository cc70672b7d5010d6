package client

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// LockOptions of Client.Lock. The zero value of a field leaves it to the gateway.
type LockOptions struct {
	Wait    time.Duration // 0: try once
	TTL     time.Duration // of the lease
	Thread  int64         // completes the owner id; 0 means 1
	MaxHold time.Duration
	Shared  bool   // others may hold it too, if they share it
	Limit   int    // of a semaphore, which so many may hold; 0: a lock
	Note    string // for people
	Request string // id that makes a repeat return the first answer
}

// Lock acquires name or enters it again. ErrNotAcquired when it was not to be had
// within o.Wait. Two entries of the same session and thread never wait for each
// other.
func (c *Client) Lock(ctx context.Context, name string, o LockOptions) (Hold, error) {
	args := []string{"LOCK", name, "FULL"}
	args = withSeconds(args, "WAIT", o.Wait)
	args = withSeconds(args, "TTL", o.TTL)
	args = withCount(args, "THREAD", o.Thread)
	args = withSeconds(args, "MAXHOLD", o.MaxHold)
	args = withText(args, "NOTE", o.Note)
	if o.Shared {
		args = append(args, "SHARED")
	}
	args = withCount(args, "LIMIT", o.Limit)
	args = withText(args, "REQ", o.Request)
	v, err := c.do(ctx, o.Wait, args)
	f, err := asMap(args[0], v, err)
	if err != nil {
		return Hold{}, err
	}
	if f == nil {
		return Hold{}, ErrNotAcquired
	}
	return f.hold(), nil
}

// UnlockOptions of Client.Unlock.
type UnlockOptions struct {
	Thread  int64  // 0 means 1
	All     bool   // drop every entry
	Request string // id that makes a repeat return the first answer
}

// Unlock gives up one entry and returns how many are left; 0: name is free.
func (c *Client) Unlock(ctx context.Context, name string, o UnlockOptions) (int, error) {
	args := withCount([]string{"UNLOCK", name}, "THREAD", o.Thread)
	if o.All {
		args = append(args, "ALL")
	}
	n, err := c.number(ctx, withText(args, "REQ", o.Request)...)
	return int(n), err
}

// Renew sets the lease of the hold of name to ttl from now on, 0: to what it
// has, and returns how long it may be relied on. thread 0 means 1.
func (c *Client) Renew(ctx context.Context, name string, thread int64, ttl time.Duration) (time.Duration, error) {
	args := withSeconds([]string{"RENEW", name}, "TTL", ttl)
	ms, err := c.number(ctx, withCount(args, "THREAD", thread)...)
	return time.Duration(ms) * time.Millisecond, err
}

// Info tells what is known of name.
func (c *Client) Info(ctx context.Context, name string) (Status, error) {
	f, err := c.mapped(ctx, "LOCKINFO", name)
	return f.status(), err
}

// Locks is a page of the locks that q asks for.
func (c *Client) Locks(ctx context.Context, q LockQuery) (LockPage, error) {
	args := []string{"LOCKS", "PAGE", q.Cursor}
	for word, value := range map[string]string{
		"PREFIX": q.Prefix, "CONTAINS": q.Contains, "STATE": q.State, "SORT": q.Sort, "ORDER": q.Order,
	} {
		args = withText(args, word, value)
	}
	args = withCount(args, "COUNT", q.Limit)
	f, err := c.mapped(ctx, args...)
	if err != nil {
		return LockPage{}, err
	}
	page := LockPage{Next: f.text("next"), Incomplete: f.text("incomplete")}
	for _, item := range list(f["items"]) {
		page.Items = append(page.Items, item.status())
	}
	n := f.object("counts")
	page.Locks, page.Held, page.Waiting, page.AtLeast = int(n.number("locks")), int(n.number("held")), int(n.number("waiting")), n.flag("at_least")
	return page, nil
}

// NewSession opens a session that ends after keepalive without any command (0:
// the gateway's default), joins it and returns its token.
func (c *Client) NewSession(ctx context.Context, keepalive time.Duration) (Token, error) {
	return c.open(ctx, withSeconds([]string{"SESSION", "NEW"}, "KEEPALIVE", keepalive))
}

// NewLockSession is NewSession for one lock: the session also ends when that was given back,
// as one does that an acquire over HTTP has opened.
func (c *Client) NewLockSession(ctx context.Context, keepalive time.Duration) (Token, error) {
	return c.open(ctx, withSeconds([]string{"SESSION", "NEW", "ONELOCK"}, "KEEPALIVE", keepalive))
}

// BindSession opens a session that lives as long as the process pid, whatever becomes of
// connections, joins it and returns its token. The process has to be of the same user, and
// the gateway must be able to watch it: from a container with process ids of its own it
// cannot, which is ErrInvalid or ErrUnsupported.
func (c *Client) BindSession(ctx context.Context, pid int) (Token, error) {
	return c.open(ctx, []string{"SESSION", "NEW", "BIND", fmt.Sprintf("pid:%d", pid)})
}

func (c *Client) open(ctx context.Context, args []string) (Token, error) {
	v, err := c.Do(ctx, args...)
	token, _ := v.(string)
	return Token(token), err
}

// Show says which process the holds of the session belong to, for people.
func (c *Client) Show(ctx context.Context, pid int) error {
	_, err := c.Do(ctx, "SESSION", "SHOW", fmt.Sprintf("pid:%d", pid))
	return err
}

// Session tells about the session of this connection. If there is none yet it is
// opened, and this is the only time its token is told.
func (c *Client) Session(ctx context.Context) (SessionInfo, error) {
	f, err := c.mapped(ctx, "SESSION", "INFO")
	if err != nil {
		return SessionInfo{}, err
	}
	info := SessionInfo{
		ID: f.text("id"), UUID: f.text("uuid"), Token: Token(f.text("token")),
		Keepalive: f.milliseconds("keepalive_ms"), Since: f.time("since"),
	}
	for _, hold := range list(f["locks"]) {
		info.Holds = append(info.Holds, hold.hold())
	}
	return info, nil
}

// EndSession releases all the session holds and ends it.
func (c *Client) EndSession(ctx context.Context) error {
	_, err := c.Do(ctx, "SESSION", "END")
	return err
}

// Ping is a sign of life.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.Do(ctx, "PING")
	return err
}

// Subscribe delivers to Options.OnMessage what happens from now on, on this gateway, to name,
// or to all names that begin with what stands before a * at the end.
func (c *Client) Subscribe(ctx context.Context, name string) error {
	command := "SUBSCRIBE"
	if strings.HasSuffix(name, "*") {
		command = "PSUBSCRIBE"
	}
	_, err := c.Do(ctx, command, "lock:"+name)
	return err
}

func (c *Client) number(ctx context.Context, args ...string) (int64, error) {
	v, err := c.Do(ctx, args...)
	if err != nil {
		return 0, err
	}
	n, ok := v.(int64)
	if !ok {
		return 0, fmt.Errorf("gateway: %s was answered with a %T", args[0], v)
	}
	return n, nil
}

// mapped is nil for a null reply.
func (c *Client) mapped(ctx context.Context, args ...string) (fields, error) {
	v, err := c.Do(ctx, args...)
	return asMap(args[0], v, err)
}

func asMap(command string, v any, err error) (fields, error) {
	if err != nil || v == nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("gateway: %s was answered with a %T", command, v)
	}
	return m, nil
}

func withText(args []string, word, s string) []string {
	if s == "" {
		return args
	}
	return append(args, word, s)
}

// withCount sends every n but 0: it is the gateway that refuses one below.
func withCount[N int | int64](args []string, word string, n N) []string {
	if n == 0 {
		return args
	}
	return append(args, word, strconv.FormatInt(int64(n), 10))
}

func withSeconds(args []string, word string, d time.Duration) []string {
	if d == 0 {
		return args
	}
	return append(args, word, strconv.FormatFloat(d.Seconds(), 'f', -1, 64))
}
