package conn

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/lockgw/lockgw/backend"
)

// ErrTurnedAway: the server has ended a connection as soon as it was made, so nothing was carried
// out over it. Others that were made before may go on.
var ErrTurnedAway = fmt.Errorf("%w: Redis takes no connection more", backend.ErrRefused)

// farewells are what a server says of itself, without a question, before it closes a connection.
var farewells = []string{"DENIED ", "ERR max number of clients reached"}

// farewell is the error that one is. It has no Unwrap: the client library would tell what is in it alone.
type farewell string

func (f farewell) Error() string {
	return fmt.Sprintf("%v: %s (%s)", ErrTurnedAway, adviceOn(string(f)), string(f))
}

func (f farewell) Is(target error) bool { return errors.Is(ErrTurnedAway, target) }

// greeting is a connection whose first answer may be a farewell. The client library takes that for
// the answer of a server that does not know HELLO, goes on, and knows then only of a broken pipe.
type greeting struct {
	net.Conn
	over bool
	err  error
}

// Read implements net.Conn.
func (g *greeting) Read(p []byte) (int, error) {
	if g.err != nil {
		return 0, g.err
	}
	n, err := g.Conn.Read(p)
	if g.over || n == 0 {
		return n, err
	}
	g.over = true
	if g.err = turnedAway(p[:n]); g.err != nil {
		return 0, g.err
	}
	return n, err
}

// turnedAway is what a server says that begins so, if that is a farewell.
func turnedAway(said []byte) error {
	line, _, _ := bytes.Cut(said, []byte("\r\n"))
	text, failed := strings.CutPrefix(string(line), "-")
	for _, f := range farewells {
		if failed && strings.HasPrefix(text, f) {
			return farewell(text)
		}
	}
	return nil
}
