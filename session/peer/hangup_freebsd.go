package peer

import "golang.org/x/sys/unix"

// established is true if the kernel does not tell: POLLRDHUP is there since FreeBSD 13.
func established(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(fds, 0)
	return err != nil || n == 0 || fds[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) == 0
}
