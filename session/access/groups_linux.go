package access

import (
	"net"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/session/peer"
)

// groupsOf are the groups of the process that connected c, as they were then: its
// own and the further ones, but for those of another user namespace. Without an answer of
// the kernel there are none, which allows less.
func groupsOf(c *net.UnixConn) []int {
	rc, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	var groups []int
	_ = rc.Control(func(fd uintptr) { // its error is that the connection is closed
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			groups = append(groups, int(cred.Gid))
		}
		for _, gid := range peerGroups(fd) {
			groups = append(groups, int(gid))
		}
	})
	return slices.DeleteFunc(groups, peer.NobodyGroup)
}

// peerGroups: package unix has no function for SO_PEERGROUPS.
func peerGroups(fd uintptr) []uint32 {
	buf := make([]uint32, 32)
	for range 2 {
		size := uint32(len(buf)) * 4
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&buf[0])), uintptr(unsafe.Pointer(&size)), 0)
		switch errno {
		case 0:
			return buf[:size/4]
		case unix.ERANGE: // size is what it needs
			buf = make([]uint32, size/4)
		default:
			return nil
		}
	}
	return nil
}
