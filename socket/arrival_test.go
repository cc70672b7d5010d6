package socket

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/socket/resp"
)

// trickle is a connection on which something arrives every second, never at the end of a
// command.
type trickle struct {
	net.Conn // none: only what is below is called
	chunks   []string
	deadline time.Time
}

func (c *trickle) SetReadDeadline(t time.Time) error {
	c.deadline = t
	return nil
}

func (c *trickle) Read(b []byte) (int, error) {
	time.Sleep(time.Second)
	switch {
	case !c.deadline.IsZero() && time.Now().After(c.deadline):
		return 0, fmt.Errorf("%d chunks are left: %w", len(c.chunks), os.ErrDeadlineExceeded)
	case len(c.chunks) == 0:
		return 0, io.EOF
	}
	n := copy(b, c.chunks[0])
	c.chunks = c.chunks[1:]
	return n, nil
}

// The time for a command to arrive begins with each command, also where what is read
// always ends in the middle of one.
func TestEachCommandHasItsTime(t *testing.T) {
	read := func(chunks ...string) (commands int, err error) {
		nc := &trickle{chunks: chunks}
		c := &conn{srv: &Server{cfg: Config{Limits: Limits{Read: 5 * time.Second}}}, nc: nc, out: newOutput(nc, 0, 0), in: resp.NewReader(nc)}
		for ; err == nil; commands++ {
			_, err = c.next()
		}
		return commands - 1, err
	}
	synctest.Test(t, func(t *testing.T) {
		many := append([]string{"PING\r\nPI"}, strings.Split(strings.Repeat("NG\r\nPI,", 20)+"NG\r\n", ",")...)
		if n, err := read(many...); n != 22 || err != io.EOF {
			t.Errorf("%d commands were read, and then %v, want 22 and the end", n, err)
		}
		var bad resp.ProtocolError
		if n, err := read(strings.Split("P I N G x x x x", " ")...); n != 0 || !errors.As(err, &bad) {
			t.Errorf("%d commands were read, and then %v, want none: it takes longer than 5 s", n, err)
		}
	})
}
