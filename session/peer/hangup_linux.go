package peer

import "golang.org/x/sys/unix"

// established is true if the kernel does not tell.
func established(fd int) bool {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	return err != nil || info.State == unix.BPF_TCP_ESTABLISHED
}
