package callers

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lockgw/lockgw/bench/rig"
)

// Wire is a connection whose answers are read with as little as can be.
type Wire struct {
	net.Conn
	r *bufio.Reader
}

// Dial connects, and comes back while more connect than the server has accepted so far.
func Dial(network, addr string) (*Wire, error) {
	c, err := net.Dial(network, addr)
	for errors.Is(err, syscall.EAGAIN) {
		<-time.After(time.Millisecond)
		c, err = net.Dial(network, addr)
	}
	if err != nil {
		return nil, err
	}
	return &Wire{c, bufio.NewReaderSize(c, 1<<10)}, nil
}

// Encode makes a request of RESP, to be sent again and again.
func Encode(args ...string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

// Ask sends a request and reads an answer of one line.
func (w *Wire) Ask(request []byte) error {
	if _, err := w.Write(request); err != nil {
		return err
	}
	return w.Answered()
}

// Answered reads an answer of one line. An error of the gateway is an error, and so is nothing.
func (w *Wire) Answered() error {
	line, err := w.r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if line[0] == '-' || line[0] == '$' || line[0] == '_' {
		return fmt.Errorf("answer %q", line)
	}
	return nil
}

// Exchange sends a request and reads an answer of n bytes.
func (w *Wire) Exchange(request []byte, n int) error {
	if _, err := w.Write(request); err != nil {
		return err
	}
	_, err := w.r.Discard(n)
	return err
}

// LockAndUnlock are the requests of a pair.
func LockAndUnlock(name string) (lock, unlock []byte) {
	return Encode("LOCK", name, "WAIT", "60"), Encode("UNLOCK", name)
}

// PingLike is a PING as long as request, and how long its answer is.
func PingLike(request []byte) (ping []byte, answer int) {
	for payload := "x"; ; payload += "x" {
		if ping = Encode("PING", payload); len(ping) >= len(request) {
			return ping, len(ping) - len("*2\r\n$4\r\nPING\r\n")
		}
	}
}

// Echoes are round trips that do nothing, over a Unix socket.
func Echoes(path string) func(n int) (Crew, error) {
	request, _ := LockAndUnlock("name0")
	return func(n int) (Crew, error) {
		return Connected(n, "unix", path, func(_ int, w *Wire) (Op, error) {
			return func() error { return w.Exchange(request, len(request)) }, nil
		})
	}
}

// Pings are round trips through the gateway that do nothing.
func Pings(network, addr string) func(n int) (Crew, error) {
	request := Encode("PING")
	return func(n int) (Crew, error) {
		return Connected(n, network, addr, func(_ int, w *Wire) (Op, error) {
			return func() error { return w.Ask(request) }, nil
		})
	}
}

// SocketName is the row of socketPairs on Redis.
const SocketName = "lockgw socket, redis://"

// SocketPairs are locks and unlocks over resp.sock, of names of their own or of
// one for all.
func SocketPairs(name func(i int) string, gateways ...*rig.Gateway) func(n int) (Crew, error) {
	return func(n int) (Crew, error) {
		var parts []Crew
		for k, g := range gateways {
			size := (n + k) / len(gateways)
			c, err := Connected(size, "unix", g.RESP, func(i int, w *Wire) (Op, error) {
				lock, unlock := LockAndUnlock(name(i))
				pair := func() error {
					if err := w.Ask(lock); err != nil {
						return err
					}
					return w.Ask(unlock)
				}
				return pair, pair() // the connection's session is there from now on
			})
			if err != nil {
				return joined(parts), err
			}
			parts = append(parts, c)
		}
		return joined(parts), nil
	}
}

// Own is a name of the caller's own, one is the same for all.
func Own(i int) string { return "bench" + strconv.Itoa(i) }

// Kept is one of the caller's own that no other row asks for: a gateway that retains it would
// be asked for it.
func Kept(i int) string { return "kept" + strconv.Itoa(i) }

// One is the name that all callers want.
func One(int) string { return "bench" }

// Reply sends a request and returns an answer of one line, without what ends it. An error
// of the gateway is an error.
func (w *Wire) Reply(args ...string) (string, error) {
	_, failed := w.Write(Encode(args...))
	line, err := w.r.ReadString('\n') // a gateway that refuses a connection says so and closes it, perhaps before it is asked
	line = strings.TrimRight(line, "\r\n")
	if err != nil && failed != nil {
		err = failed
	}
	switch {
	case err != nil || line != "" && (line[0] == ':' || line[0] == '+'):
		return line, err
	case line != "" && line[0] == '-':
		return line, refusedError(line[1:])
	}
	return line, fmt.Errorf("%s: answer %q", args[0], line)
}

// refusedError is what a gateway has answered.
type refusedError string

func (e refusedError) Error() string { return string(e) }

// RefusalOf is the answer that err is; "": it is something else.
func RefusalOf(err error) string {
	var e refusedError
	errors.As(err, &e)
	return string(e)
}
