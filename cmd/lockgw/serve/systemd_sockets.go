package serve

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The names of the sockets that a service manager may pass, FileDescriptorName=
// in the units of systemd.
const (
	passedHTTP = "http"
	passedRESP = "resp"
	passedTCP  = "tcp"
)

// passedSockets were opened by the service manager, which keeps them open when
// this process ends: whoever connects then waits for the next one.
type passedSockets []*passedSocket

// takePassed listens on the files, all or none. Their names say what for.
func takePassed(files []*os.File) (passedSockets, error) {
	var all passedSockets
	var errs []error
	for _, f := range files {
		p, err := listenOn(f)
		_ = f.Close() // the listener has a descriptor of its own
		if err != nil {
			errs = append(errs, fmt.Errorf("the socket that the service manager has passed as %q %w", f.Name(), err))
			continue
		}
		all = append(all, p)
	}
	if err := errors.Join(errs...); err != nil {
		all.close()
		return nil, err
	}
	return all, nil
}

func listenOn(f *os.File) (*passedSocket, error) {
	network := map[string]string{passedHTTP: "unix", passedRESP: "unix", passedTCP: "tcp"}[f.Name()]
	if network == "" {
		return nil, fmt.Errorf("is not known here; name it %s, %s or %s (FileDescriptorName=)", passedHTTP, passedRESP, passedTCP)
	}
	if listens, err := unix.GetsockoptInt(int(f.Fd()), unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err != nil || listens == 0 {
		return nil, errors.New("does not listen for connections; use ListenStream= with Accept=no")
	}
	ln, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("cannot be used: %w", err)
	}
	if got := ln.Addr().Network(); got != network {
		ln.Close()
		return nil, fmt.Errorf("is a %s socket, not a %s one", got, network)
	}
	return &passedSocket{Listener: ln, name: f.Name(), left: make(chan struct{}), closed: make(chan struct{})}, nil
}

// named are the sockets with that name.
func (all passedSockets) named(name string) (lns []net.Listener) {
	for _, p := range all {
		if p.name == name {
			lns = append(lns, p)
		}
	}
	return lns
}

// grace is the time for the first request of a connection that was accepted just
// before leave. A server that is shut down drops what it has not read by then, and
// its client has done nothing wrong.
const grace = 100 * time.Millisecond

// leave accepts nothing more: those who connect from now on wait for the next
// process. When it returns, the connections accepted before are with their
// servers, which have had time for their first requests.
func (all passedSockets) leave() {
	if len(all) == 0 {
		return
	}
	for _, p := range all {
		p.Listener.Close()
	}
	for _, p := range all {
		select {
		case <-p.left:
		case <-p.closed: // its server has failed
		}
	}
	<-time.After(grace)
}

func (all passedSockets) close() {
	for _, p := range all {
		p.Close()
	}
}

// passedSocket hides from its server that it was left, so that the server goes on
// with the connections it has until it is shut down.
type passedSocket struct {
	net.Listener
	name               string
	left, closed       chan struct{}
	leaveOne, closeOne sync.Once
}

// Accept implements net.Listener. After leave it waits for Close.
func (p *passedSocket) Accept() (net.Conn, error) {
	conn, err := p.Listener.Accept()
	if errors.Is(err, net.ErrClosed) {
		p.leaveOne.Do(func() { close(p.left) })
		<-p.closed
	}
	return conn, err
}

// Close implements net.Listener. The socket stays where it is, and its file too.
func (p *passedSocket) Close() error {
	p.closeOne.Do(func() { close(p.closed) })
	p.Listener.Close()
	return nil
}
