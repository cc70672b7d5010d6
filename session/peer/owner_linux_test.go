package peer

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// dialAs connects as another user: the thread alone changes it, and ends.
func dialAs(t *testing.T, uid int, network, address string) net.Conn {
	t.Helper()
	asRoot(t)
	type result struct {
		c   net.Conn
		err error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread exits with this goroutine
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
			done <- result{nil, errno}
			return
		}
		c, err := net.Dial(network, address)
		done <- result{c, err}
	}()
	r := <-done
	if r.err != nil {
		t.Fatalf("connect as uid %d: %v", uid, r.err)
	}
	t.Cleanup(func() { r.c.Close() })
	return r.c
}

// openUp lets other users reach a directory of a test.
func openUp(dir string) {
	for ; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		_ = os.Chmod(dir, 0o755)
	}
}

// The user at the other end of a connection over loopback pays for it.
func TestOwnerOverLoopback(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		ln, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		client := dialAs(t, 1001, "tcp", ln.Addr().String())
		c, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if got := OwnerOf(c); got != User(1001) {
			t.Errorf("%s: owner = %+v, want %+v", address, got, User(1001))
		}
		client.Close()
		deadline := time.Now().Add(time.Minute)
		for OwnerOf(c) == User(1001) && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
		if got := OwnerOf(c); got.Admin() || got.Account != accountLoopback {
			t.Errorf("%s: owner of a connection whose client has closed it = %+v, want nobody in particular", address, got)
		}
	}
}

func TestOwnerOverUnix(t *testing.T) {
	c := accept(t, func(path string) {
		if err := os.Chmod(path, 0o666); err != nil {
			t.Fatal(err)
		}
		openUp(filepath.Dir(path))
		dialAs(t, 1001, "unix", path)
	})
	if got := OwnerOf(c); got != User(1001) {
		t.Errorf("owner = %+v, want %+v", got, User(1001))
	}
}

func TestUsers(t *testing.T) {
	if !User(0).Admin() || !User(os.Geteuid()).Admin() || User(4321).Admin() || User(-1).Admin() {
		t.Error("administrators are root and the user of this process")
	}
	if User(-1).Account == User(4321).Account {
		t.Error("who is nobody in particular is on somebody's account")
	}
}

func TestSite(t *testing.T) {
	for a, want := range map[string]string{"10.0.0.5": "10.0.0.5", "2001:db8::5": "2001:db8::/64", "fe80::1%eth0": "fe80::/64"} {
		if got := site(netip.MustParseAddr(a)); got != want {
			t.Errorf("site(%s) = %s, want %s", a, got, want)
		}
	}
}

func BenchmarkOwnerOverLoopback(b *testing.B) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	c, err := ln.Accept()
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for b.Loop() {
		OwnerOf(c)
	}
}

// between is a connection between two addresses.
type between struct {
	net.Conn
	local, remote string
}

func (c between) LocalAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.local))
}
func (c between) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.remote))
}

// A connection is one of this machine if both of its ends are, and goes on the account of an
// address if not.
func TestOverLoopback(t *testing.T) {
	for c, want := range map[between]bool{
		{local: "127.0.0.1:7", remote: "127.0.0.1:8"}: true,
		{local: "[::1]:7", remote: "[::1]:8"}:         true,
		{local: "127.0.0.1:7", remote: "192.0.2.1:8"}: false,
		{local: "192.0.2.1:7", remote: "127.0.0.1:8"}: false,
	} {
		if got := OverLoopback(c); got != want {
			t.Errorf("%s to %s: over loopback %v", c.remote, c.local, got)
		}
		if got := OwnerOf(c); (got.Account == accountNetwork) == want {
			t.Errorf("%s to %s: on the account %q", c.remote, c.local, got.Account)
		}
	}
	c, s := net.Pipe()
	defer c.Close()
	defer s.Close()
	if OverLoopback(c) || OwnerOf(c).Account != accountNetwork {
		t.Error("what is not over TCP is over loopback")
	}
}
