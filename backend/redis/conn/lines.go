package conn

import (
	"context"
	"net"
	"sync"

	goredis "github.com/redis/go-redis/v9"
)

// lines are the connections of one client. The client library ends those alone that nobody uses, one
// by one, as each comes to its turn.
type lines struct {
	mu   sync.Mutex // guards the field below
	open map[*line]struct{}
}

type line struct {
	net.Conn
	of *lines
}

func (l *lines) add(c net.Conn) net.Conn {
	one := &line{c, l}
	l.mu.Lock()
	l.open[one] = struct{}{}
	l.mu.Unlock()
	return socket(one, c)
}

// Close implements net.Conn.
func (l *line) Close() error {
	l.of.mu.Lock()
	delete(l.of.open, l)
	l.of.mu.Unlock()
	return l.Conn.Close()
}

func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for one := range l.open {
		_ = one.Conn.Close()
	}
	clear(l.open)
}

// anew is the key of a context in which a command is none: the connections end.
type anew struct{}

// Anew has c make all its connections anew. What is under way over them has no answer.
func Anew(ctx context.Context, c *goredis.Client) {
	_ = c.Process(context.WithValue(ctx, anew{}, true), goredis.NewCmd(ctx))
}
