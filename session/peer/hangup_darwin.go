package peer

import "golang.org/x/sys/unix"

// established is true if the kernel does not tell.
func established(fd int) bool {
	const tcpsEstablished = 4 // TCPS_ESTABLISHED of netinet/tcp_fsm.h
	info, err := unix.GetsockoptTCPConnectionInfo(fd, unix.IPPROTO_TCP, unix.TCP_CONNECTION_INFO)
	return err != nil || info.State == tcpsEstablished
}
