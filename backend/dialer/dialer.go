// Package dialer connects to stores so that one which vanishes without a word is noticed in
// seconds, and not when the kernel gives up after a quarter of an hour.
package dialer

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"time"
)

// userTimeout bounds how long the kernel keeps a connection on which sent data is not
// acknowledged.
const userTimeout = 3 * time.Second

// New makes a dialer that gives up connecting after timeout. A peer that vanishes is
// noticed while the connection is idle by keep-alives, and while something is being sent
// by a limit on how long that may stay unacknowledged, where the system knows one.
func New(timeout time.Duration) *net.Dialer {
	return &net.Dialer{
		Timeout:         timeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 2},
		Control:         setUserTimeout,
	}
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
