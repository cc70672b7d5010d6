package access

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/lockgw/lockgw/session"
)

// dialer makes of the test's program a client that stays until it is hung up on.
const dialer = "ACCESS_TEST_DIAL"

func TestMain(m *testing.M) {
	if path := os.Getenv(dialer); path != "" {
		if c, err := net.Dial("unix", path); err == nil {
			_, _ = io.Copy(io.Discard, c)
		}
		return
	}
	os.Exit(m.Run())
}

// More groups than fit at first, and the process's own.
func TestGroupsOfPeer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), dialer+"="+path)
	want := []int{os.Getegid()}
	if os.Geteuid() == 0 {
		credential := &syscall.Credential{Uid: 0, Gid: 5}
		want = []int{5}
		for gid := range 50 {
			credential.Groups = append(credential.Groups, uint32(1000+gid))
			want = append(want, 1000+gid)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	} else if own, err := os.Getgroups(); err == nil {
		want = append(want, own...)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	c, err := ln.Accept()
	if err != nil {
		_ = cmd.Process.Kill()
		t.Fatal(err)
	}
	defer c.Close()
	if by := Of(c, session.NoPeer()); by.via != viaUnix || !slices.Equal(by.groups, want) {
		t.Errorf("via, groups = %v, %v, want %v", by.via, by.groups, want)
	}
}

// A connection comes from this machine if both of its ends are loopback addresses: a machine
// may let its neighbours reach 127.0.0.1.
func TestOf(t *testing.T) {
	for _, tt := range []struct {
		at, from string
		want     via
	}{
		{"127.0.0.1:1", "127.0.0.1:2", viaLoopback}, {"127.9.9.9:1", "127.0.0.1:2", viaLoopback}, {"[::1]:1", "[::1]:2", viaLoopback},
		{"[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:2", viaLoopback},
		{"127.0.0.1:1", "10.0.0.2:2", viaNetwork}, {"[::1]:1", "[2001:db8::2]:2", viaNetwork}, {"127.0.0.1:1", "nonsense", viaNetwork},
		{"10.0.0.1:1", "127.0.0.1:2", viaNetwork}, {"10.0.0.1:1", "10.0.0.2:2", viaNetwork},
		{"0.0.0.0:1", "127.0.0.1:2", viaNetwork}, {"[::]:1", "[::1]:2", viaNetwork}, {"nonsense", "", viaNetwork}, {"", "", viaNetwork},
	} {
		if by := Of(arrived{at: address(tt.at), from: address(tt.from)}, session.NoPeer()); by.via != tt.want {
			t.Errorf("via of a connection from %q to %q = %v, want %v", tt.from, tt.at, by.via, tt.want)
		}
	}
}

// arrived is a connection that arrived at that address.
type arrived struct {
	net.Conn
	at, from address
}

func (a arrived) LocalAddr() net.Addr  { return a.at }
func (a arrived) RemoteAddr() net.Addr { return a.from }

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }
