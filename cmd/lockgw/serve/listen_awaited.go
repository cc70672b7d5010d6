package serve

import (
	"log/slog"
	"net"
	"sync"
	"time"
)

// listenAgain is how often an address that another program has is tried again.
const listenAgain = time.Second

// awaited is a listener for an address that another program has. It listens there as soon as
// it can. Any user can take the port while the gateway is away. That must not keep the gateway
// from starting, because it has to renew the leases of the clients on its Unix sockets.
type awaited struct {
	address string
	addr    net.Addr // the same
	log     *slog.Logger
	closed  chan struct{}

	mu   sync.Mutex
	ln   net.Listener // nil: not yet
	over bool
}

// awaitedAddr is one that nobody can be told to connect to.
type awaitedAddr struct{ net.Addr }

func await(address string, log *slog.Logger) (*awaited, error) {
	addr, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	return &awaited{address: address, addr: addr, log: log, closed: make(chan struct{})}, nil
}

// Accept implements net.Listener. One goroutine may wait in it.
func (a *awaited) Accept() (net.Conn, error) {
	again := time.NewTicker(listenAgain)
	defer again.Stop()
	for {
		if ln, err := a.listen(); err != nil {
			return nil, err
		} else if ln != nil {
			return ln.Accept()
		}
		select {
		case <-again.C:
		case <-a.closed:
		}
	}
}

// listen returns nil while somebody else has the address.
func (a *awaited) listen() (net.Listener, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return nil, net.ErrClosed
	}
	if a.ln != nil {
		return a.ln, nil
	}
	ln, err := net.Listen("tcp", a.address)
	if err != nil {
		return nil, nil //nolint:nilerr // it is tried again
	}
	a.ln = ln
	a.log.Info("the address is free; the gateway listens there now", "http", a.address)
	return ln, nil
}

// Close implements net.Listener.
func (a *awaited) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return net.ErrClosed
	}
	a.over = true
	close(a.closed)
	if a.ln == nil {
		return nil
	}
	return a.ln.Close()
}

// Addr implements net.Listener.
func (a *awaited) Addr() net.Addr {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ln == nil {
		return awaitedAddr{a.addr}
	}
	return a.ln.Addr()
}
