package serve

import (
	"net"

	"github.com/lockgw/lockgw/session/peer"
)

// sparing keeps the last descriptors of the process from the clients of a listener:
// those that would take one are refused. The front of resp.sock does so by itself.
type sparing struct {
	net.Listener
	refuse func(net.Conn) // answers, and closes
}

// Accept implements net.Listener.
func (l sparing) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil || !peer.Scarce(c) {
			return c, err
		}
		l.refuse(c)
	}
}
