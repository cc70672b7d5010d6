package serve

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/api"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
)

// listenTCP listens on the sockets that the service manager has passed. If it has passed none,
// it opens the addresses of http.listen, all or none; it waits for an address that another
// program has. tokens: callers may show a token in place of a certificate.
func listenTCP(c config.HTTP, tokens bool, passed []net.Listener, in api.Listening) (lns []net.Listener, certs *certificates, err error) {
	certs, err = openCertificates(c.TLS, tokens)
	if err != nil {
		return nil, nil, err
	}
	if len(passed) > 0 {
		lns, err = passed, checkPassed(passed, c.TLS, tokens)
	} else {
		lns, err = openTCP(c.Listen, cmp.Or(in.Log, slog.New(slog.DiscardHandler)))
	}
	if err != nil {
		return lns, nil, err
	}
	if certs != nil {
		in.TLS = certs.config()
	}
	for i, ln := range lns {
		lns[i] = in.Listen(ln)
	}
	return lns, certs, nil
}

// checkPassed refuses a passed socket with an address that may not be configured.
func checkPassed(lns []net.Listener, c config.TLS, tokens bool) error {
	for _, ln := range lns {
		if err := config.CheckListen(ln.Addr().String(), c, tokens); err != nil {
			return fmt.Errorf("the socket that the service manager has passed as %q: %w", passedTCP, err)
		}
	}
	return nil
}

func openTCP(addresses []string, log *slog.Logger) ([]net.Listener, error) {
	var lns []net.Listener
	for _, address := range addresses {
		ln, err := net.Listen("tcp", address)
		if errors.Is(err, unix.EADDRINUSE) {
			log.Warn("another program listens on an address of http.listen, and gets what is sent there, tokens too; "+
				"the gateway serves its other addresses and tries this one again. Stop that program, or choose another port",
				"http", address)
			ln, err = await(address, log)
		}
		if err != nil {
			closeAll(lns)
			return nil, fmt.Errorf("http.listen: %w", err)
		}
		lns = append(lns, ln)
	}
	return lns, nil
}

func closeAll(lns []net.Listener) {
	for _, ln := range lns {
		_ = ln.Close()
	}
}
