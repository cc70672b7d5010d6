package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
)

// listeners are where a gateway is reached.
type listeners struct {
	http []net.Listener // TCP, and http.sock
	resp net.Listener
}

// listen opens all of them or none.
func listen(c config, dir *socketDir) (*listeners, error) {
	ls := &listeners{}
	if err := ls.open(c, dir); err != nil {
		ls.close()
		return nil, err
	}
	return ls, nil
}

func (ls *listeners) open(c config, dir *socketDir) (err error) {
	if ls.http, err = listenTCP(c.HTTP); err != nil {
		return err
	}
	unix, err := dir.listen(httpSocket)
	if err != nil {
		return err
	}
	ls.http = append(ls.http, unix)
	ls.resp, err = dir.listen(respSocket)
	return err
}

func (ls *listeners) serve(a *actors, g *gateway) {
	for _, ln := range ls.http {
		a.start(func() error {
			if err := g.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve HTTP on %s: %w", ln.Addr(), err)
			}
			return nil
		})
	}
	a.start(func() error {
		if err := g.resp.Serve(ls.resp); err != nil {
			return fmt.Errorf("serve %s: %w", ls.resp.Addr(), err)
		}
		return nil
	})
}

// tcp are the addresses of the listeners over TCP, with the ports that the kernel
// has chosen where 0 was configured.
func (ls *listeners) tcp() []string {
	addresses := []string{}
	for _, ln := range ls.http {
		if ln.Addr().Network() == "tcp" {
			addresses = append(addresses, ln.Addr().String())
		}
	}
	return addresses
}

// close is for listeners that no server has closed.
func (ls *listeners) close() {
	closeAll(ls.http)
	if ls.resp != nil {
		_ = ls.resp.Close()
	}
}
