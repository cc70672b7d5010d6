//go:build darwin || freebsd

package access

import (
	"net"

	"golang.org/x/sys/unix"
)

// groupsOf are the groups of the process that connected c, as they were then: the first
// 16, of which more are not told. Without an answer of the kernel there are none, which
// allows less.
func groupsOf(c *net.UnixConn) []int {
	rc, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	var groups []int
	_ = rc.Control(func(fd uintptr) { // its error is that the connection is closed
		cred, err := unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		if err != nil {
			return
		}
		for _, gid := range cred.Groups[:min(max(cred.Ngroups, 0), int16(len(cred.Groups)))] {
			groups = append(groups, int(gid))
		}
	})
	return groups
}
