package dialer

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Of the addresses of a name one that takes connections is found, whatever the others do: one may
// swallow what is sent to it, as a machine that is off does.
func TestOneOfSeveralAddresses(t *testing.T) {
	const swallows, refuses, also, serves = "127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"
	server, err := net.Listen("tcp", serves+":0")
	if err != nil {
		t.Skip("there is no second address of this machine: ", err) // outside Linux
	}
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Addr().String())
	swallow(t, swallows, server.Addr().(*net.TCPAddr).Port)
	swallow(t, also, server.Addr().(*net.TCPAddr).Port)
	for _, tt := range []struct {
		addrs []string
		want  string
	}{
		{[]string{serves}, ""},
		{[]string{refuses, serves}, ""},
		{[]string{swallows, serves}, ""},
		{[]string{swallows, refuses, also, serves}, ""},
		{[]string{refuses}, "refused"},
		{[]string{swallows, refuses}, swallows + ":" + port + ": i/o timeout"},
		{nil, "no such host"},
	} {
		d := New(time.Second)
		d.lookup = func(_ context.Context, _, host string) (found []netip.Addr, err error) {
			for _, a := range tt.addrs {
				found = append(found, netip.MustParseAddr(a))
			}
			if found == nil {
				err = &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			}
			return found, err
		}
		began := time.Now()
		c, err := d.DialContext(t.Context(), "tcp", "store.example:"+port)
		switch {
		case err == nil:
			if c.RemoteAddr().String() != server.Addr().String() {
				t.Errorf("of %v it is connected to %v", tt.addrs, c.RemoteAddr())
			}
			_ = c.Close()
			if tt.want != "" {
				t.Errorf("%v: no error, want %q", tt.addrs, tt.want)
			}
		case tt.want == "" || !strings.Contains(err.Error(), tt.want):
			t.Errorf("%v, after %v: err = %v, want %q", tt.addrs, time.Since(began), err, tt.want)
		}
		if op := new(net.OpError); err != nil && !errors.As(err, &op) {
			t.Errorf("%v: %T is not what the network says", tt.addrs, err)
		}
	}
}

// swallow has what is sent to an address have no answer: as many connections wait there to be
// accepted as may.
func swallow(t *testing.T, host string, port int) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	addr := netip.MustParseAddr(host)
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Port: port, Addr: addr.As4()}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	for {
		c, err := net.DialTimeout("tcp", netip.AddrPortFrom(addr, uint16(port)).String(), 200*time.Millisecond)
		if err != nil {
			return
		}
		t.Cleanup(func() { _ = c.Close() })
	}
}
