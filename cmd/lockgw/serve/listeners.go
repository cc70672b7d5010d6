package serve

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"

	"github.com/lockgw/lockgw/api"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
)

// listeners are where a gateway is reached.
type listeners struct {
	http []net.Listener // TCP, and http.sock
	resp []net.Listener
	dir  *socketDir // nil: the service manager has passed both Unix sockets

	certs *certificates // nil: there is no TLS
}

// listen opens all of them or none. What the service manager has passed takes the
// place of what is configured.
func listen(c config.Config, passed passedSockets, in api.Listening) (*listeners, error) {
	ls := &listeners{}
	if err := ls.open(c, passed, in); err != nil {
		ls.close()
		return nil, err
	}
	return ls, nil
}

func (ls *listeners) open(c config.Config, passed passedSockets, in api.Listening) (err error) {
	web, resp := passed.named(passedHTTP), passed.named(passedRESP)
	if len(web) == 0 || len(resp) == 0 {
		if ls.dir, err = openSocketDir(c.Socket); err != nil {
			return err
		}
	}
	if ls.http, ls.certs, err = listenTCP(c.HTTP, c.Access.TokensFile != "", passed.named(passedTCP), in); err != nil {
		return err
	}
	if web, err = ls.orMake(web, cli.HTTPSocket); err != nil {
		return err
	}
	for _, ln := range web {
		ls.http = append(ls.http, in.Listen(ln))
	}
	ls.resp, err = ls.orMake(resp, cli.RespSocket)
	return err
}

// orMake is passed, or a socket of that name in the directory.
func (ls *listeners) orMake(passed []net.Listener, name string) ([]net.Listener, error) {
	if len(passed) > 0 {
		return passed, nil
	}
	ln, err := ls.dir.listen(name)
	if err != nil {
		return nil, err
	}
	return []net.Listener{ln}, nil
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
	for _, ln := range ls.resp {
		a.start(func() error {
			if err := g.resp.Serve(ln); err != nil {
				return fmt.Errorf("serve %s: %w", ln.Addr(), err)
			}
			return nil
		})
	}
}

// addresses of the listeners over "tcp", with the ports that the kernel has chosen
// where 0 was configured, or "unix". Not those that are waited for.
func (ls *listeners) addresses(network string) []string {
	addresses := []string{}
	for _, ln := range slices.Concat(ls.http, ls.resp) {
		addr := ln.Addr()
		if _, awaits := addr.(awaitedAddr); !awaits && addr.Network() == network {
			addresses = append(addresses, addr.String())
		}
	}
	return addresses
}

// close is for listeners that no server has closed, and gives up the directory.
func (ls *listeners) close() {
	closeAll(ls.http)
	closeAll(ls.resp)
	if ls.dir != nil {
		_ = ls.dir.Close()
	}
}
