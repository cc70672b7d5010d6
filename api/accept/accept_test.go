package accept

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"testing"
)

// failing is a listener whose accept fails first.
type failing struct {
	net.Listener
	errs []error
}

func (f *failing) Accept() (net.Conn, error) {
	if len(f.errs) == 0 {
		return f.Listener.Accept()
	}
	err := f.errs[0]
	f.errs = f.errs[1:]
	return nil, err
}

// A machine without room for one more connection is no reason to serve nobody any more.
func TestServesOn(t *testing.T) {
	for what, with := range map[string]*tls.Config{"plain": nil, "TLS": {}} {
		t.Run(what, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			in := Config{TLS: with}.On(&failing{ln, []error{
				syscall.EMFILE, fmt.Errorf("accept: %w", syscall.ENOSPC), syscall.ENOBUFS, syscall.ENOMEM, syscall.EBADF,
			}})
			served := http.Serve(in, http.NotFoundHandler())
			if !errors.Is(served, syscall.EBADF) {
				t.Errorf("serve = %v, want %v", served, syscall.EBADF)
			}
		})
	}
}
