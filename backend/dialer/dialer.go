// Package dialer connects to stores so that one which vanishes without a word is noticed in
// seconds, and not when the kernel gives up after a quarter of an hour; and so that of several
// addresses of a name, one that answers is found although others are dead.
package dialer

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

const (
	// userTimeout bounds how long the kernel keeps a connection on which sent data is not
	// acknowledged.
	userTimeout = 3 * time.Second
	// headStart is how long an address is tried alone, at most, before the next one is tried beside it.
	headStart = 300 * time.Millisecond
)

// Dialer makes connections. It is a net.Dialer for all but names with several addresses: that one
// tries the next address only when the one before has failed, for which it has 2 s at least, so that
// one that swallows what is sent to it takes all the time that there is.
type Dialer struct {
	one    net.Dialer
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// New makes a dialer that gives up connecting after timeout. A peer that vanishes is
// noticed while the connection is idle by keep-alives, and while something is being sent
// by a limit on how long that may stay unacknowledged, where the system knows one.
func New(timeout time.Duration) *Dialer {
	return &Dialer{
		one: net.Dialer{
			Timeout:         timeout,
			KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 2},
			Control:         setUserTimeout,
		},
		lookup: net.DefaultResolver.LookupNetIP,
	}
}

// DialContext connects to addr. The name in it is looked up each time.
func (d *Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.one.Timeout)
	defer cancel()
	host, port, err := net.SplitHostPort(addr)
	if _, numeric := netip.ParseAddr(host); network != "tcp" || err != nil || host == "" || numeric == nil {
		return d.one.DialContext(ctx, network, addr)
	}
	found, err := d.lookup(ctx, "ip", host)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	all := make([]string, len(found))
	for i, a := range found {
		all[i] = net.JoinHostPort(a.Unmap().String(), port)
	}
	return d.first(ctx, network, all)
}

// first connects to the first of addrs that takes a connection, all of which are tried in the end.
// The error is that of the first one.
func (d *Dialer) first(ctx context.Context, network string, addrs []string) (net.Conn, error) {
	type attempt struct {
		i   int
		c   net.Conn
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // those that are under way still
	ended, errs := make(chan attempt, len(addrs)), make([]error, len(addrs))
	next := time.NewTicker(min(headStart, d.one.Timeout/time.Duration(len(addrs))))
	defer next.Stop()
	begun, failed := 0, 0
	begin := func() {
		if i := begun; i < len(addrs) {
			begun++
			go func() {
				c, err := d.one.DialContext(ctx, network, addrs[i])
				ended <- attempt{i, c, err}
			}()
		}
	}
	for begin(); failed < len(addrs); {
		select {
		case <-next.C:
			begin()
		case a := <-ended:
			if a.err == nil {
				go func() {
					for range begun - failed - 1 {
						if late := <-ended; late.err == nil {
							_ = late.c.Close()
						}
					}
				}()
				return a.c, nil
			}
			errs[a.i] = a.err
			failed++
			begin()
		}
	}
	return nil, errs[0]
}

func setUserTimeout(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = limitUnanswered(int(fd))
	})
	return errors.Join(err, failed)
}
