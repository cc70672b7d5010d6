package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// wire is a connection whose answers are read with as little as can be.
type wire struct {
	net.Conn
	r *bufio.Reader
}

func dial(network, addr string) (*wire, error) {
	c, err := net.Dial(network, addr)
	for errors.Is(err, syscall.EAGAIN) { // more connect than the server has accepted so far
		<-time.After(time.Millisecond)
		c, err = net.Dial(network, addr)
	}
	if err != nil {
		return nil, err
	}
	return &wire{c, bufio.NewReaderSize(c, 1<<10)}, nil
}

// encode makes a request of RESP, to be sent again and again.
func encode(args ...string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

// ask sends a request and reads an answer of one line.
func (w *wire) ask(request []byte) error {
	if _, err := w.Write(request); err != nil {
		return err
	}
	return w.answered()
}

func (w *wire) answered() error {
	line, err := w.r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if line[0] == '-' || line[0] == '$' || line[0] == '_' {
		return fmt.Errorf("answer %q", line)
	}
	return nil
}

// exchange sends a request and reads an answer of n bytes.
func (w *wire) exchange(request []byte, n int) error {
	if _, err := w.Write(request); err != nil {
		return err
	}
	_, err := w.r.Discard(n)
	return err
}

// lockAndUnlock are the requests of a pair.
func lockAndUnlock(name string) (lock, unlock []byte) {
	return encode("LOCK", name, "WAIT", "60"), encode("UNLOCK", name)
}

// pingLike is a PING as long as request, and how long its answer is.
func pingLike(request []byte) (ping []byte, answer int) {
	for payload := "x"; ; payload += "x" {
		if ping = encode("PING", payload); len(ping) >= len(request) {
			return ping, len(ping) - len("*2\r\n$4\r\nPING\r\n")
		}
	}
}

// connected makes a crew of which each caller has a connection.
func connected(n int, network, addr string, caller func(i int, w *wire) (op, error)) (crew, error) {
	return connectedBy(func(int) (*wire, error) { return dial(network, addr) }, n, caller)
}

// connectedBy is connected with connections of its caller's making.
func connectedBy(dial func(i int) (*wire, error), n int, caller func(i int, w *wire) (op, error)) (crew, error) {
	var open []io.Closer
	c := crew{close: func() error {
		var errs []error
		for _, w := range open {
			errs = append(errs, w.Close())
		}
		return errors.Join(errs...)
	}}
	for i := range n {
		w, err := dial(i)
		if err != nil {
			return crew{}, errors.Join(err, c.close())
		}
		open, c.wires = append(open, w), append(c.wires, w)
		do, err := caller(i, w)
		if err != nil {
			return crew{}, errors.Join(err, c.close())
		}
		c.ops = append(c.ops, do)
	}
	return c, nil
}

// echoes are round trips that do nothing, over a Unix socket.
func (r *rig) echoes(n int) (crew, error) {
	request, _ := lockAndUnlock("name0")
	return connected(n, "unix", r.echo, func(_ int, w *wire) (op, error) {
		return func() error { return w.exchange(request, len(request)) }, nil
	})
}

// pings are round trips through the gateway that do nothing.
func pings(network, addr string) func(n int) (crew, error) {
	request := encode("PING")
	return func(n int) (crew, error) {
		return connected(n, network, addr, func(_ int, w *wire) (op, error) {
			return func() error { return w.ask(request) }, nil
		})
	}
}

// socketPairs are locks and unlocks over resp.sock, of names of their own or of
// one for all.
func socketPairs(name func(i int) string, gateways ...*gateway) func(n int) (crew, error) {
	return func(n int) (crew, error) {
		var parts []crew
		for k, g := range gateways {
			size := (n + k) / len(gateways)
			c, err := connected(size, "unix", g.resp, func(i int, w *wire) (op, error) {
				lock, unlock := lockAndUnlock(name(i))
				pair := func() error {
					if err := w.ask(lock); err != nil {
						return err
					}
					return w.ask(unlock)
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

// joined is one crew of all, the callers of each in turn.
func joined(parts []crew) crew {
	c := crew{close: func() error {
		var errs []error
		for _, p := range parts {
			errs = append(errs, p.close())
		}
		return errors.Join(errs...)
	}}
	for _, p := range parts {
		c.ops = append(c.ops, p.ops...)
	}
	return c
}

// own is a name of the caller's own, one is the same for all.
func own(i int) string { return "bench" + strconv.Itoa(i) }
func one(int) string   { return "bench" }

// reply sends a request and returns an answer of one line, without what ends it. An error
// of the gateway is an error.
func (w *wire) reply(args ...string) (string, error) {
	if _, err := w.Write(encode(args...)); err != nil {
		return "", err
	}
	line, err := w.r.ReadString('\n')
	line = strings.TrimRight(line, "\r\n")
	switch {
	case err != nil || line != "" && (line[0] == ':' || line[0] == '+'):
		return line, err
	case line != "" && line[0] == '-':
		return line, refusedError(line[1:])
	}
	return line, fmt.Errorf("%s: answer %q", args[0], line)
}
