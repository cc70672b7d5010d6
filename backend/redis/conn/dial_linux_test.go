package conn

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/backend/redis/redistest"
)

func TestDialerBoundsDeadPeers(t *testing.T) {
	s := redistest.Start(t)
	opt, err := Options(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	c, err := opt.Dialer(t.Context(), opt.Network, opt.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name        string
		level, opt  int
		want        int
		description string
	}{
		{"TCP_USER_TIMEOUT", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 3000, "ms"},
		{"SO_KEEPALIVE", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1, ""},
		{"TCP_KEEPIDLE", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 5, "s"},
		{"TCP_KEEPINTVL", unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 2, "s"},
		{"TCP_KEEPCNT", unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 2, ""},
	} {
		var got int
		_ = raw.Control(func(fd uintptr) { got, err = unix.GetsockoptInt(int(fd), tt.level, tt.opt) })
		if err != nil || got != tt.want {
			t.Errorf("%s = %d%s, %v, want %d", tt.name, got, tt.description, err, tt.want)
		}
	}
}
