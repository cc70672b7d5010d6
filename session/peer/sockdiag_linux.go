package peer

import (
	"encoding/binary"
	"net/netip"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// inetDiagSockID and the others are those of linux/inet_diag.h, which package unix does
// not have.
type inetDiagSockID struct {
	sport, dport [2]byte // in network byte order, as the addresses
	src, dst     [16]byte
	ifindex      uint32
	cookie       [2]uint32
}

type inetDiagReq struct {
	family, protocol, ext, pad uint8
	states                     uint32
	id                         inetDiagSockID
}

type inetDiagMsg struct {
	family, state, timer, retrans uint8
	id                            inetDiagSockID
	expires, rqueue, wqueue       uint32
	uid, inode                    uint32
}

const (
	sockDiagByFamily = 20
	// diagTimeout: the kernel answers at once, or not at all.
	diagTimeout = 100 * time.Millisecond
)

// socketUser is the user who has opened the TCP socket with the address local, which is
// connected to remote: both on this machine. ok is false where the kernel does not say,
// as in a sandbox without netlink, or if the socket was closed since.
//
// It serves to share descriptors, and gives nobody any right, because a process may have
// handed its socket to another user.
func socketUser(local, remote netip.AddrPort) (uid int, ok bool) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	wait := unix.NsecToTimeval(diagTimeout.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		return 0, false
	}
	if err := unix.Sendto(fd, diagRequest(local, remote), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, false
	}
	var buf [1024]byte
	n, _, err := unix.Recvfrom(fd, buf[:], 0)
	if err != nil {
		return 0, false
	}
	return diagUser(buf[:n])
}

func diagRequest(local, remote netip.AddrPort) []byte {
	req := inetDiagReq{family: unix.AF_INET, protocol: unix.IPPROTO_TCP, states: ^uint32(0)}
	src, dst := local.Addr().Unmap(), remote.Addr().Unmap()
	if src.Is4() {
		a, b := src.As4(), dst.As4()
		copy(req.id.src[:], a[:])
		copy(req.id.dst[:], b[:])
	} else {
		req.family, req.id.src, req.id.dst = unix.AF_INET6, src.As16(), dst.As16()
	}
	binary.BigEndian.PutUint16(req.id.sport[:], local.Port())
	binary.BigEndian.PutUint16(req.id.dport[:], remote.Port())
	req.id.cookie = [2]uint32{^uint32(0), ^uint32(0)} // INET_DIAG_NOCOOKIE

	msg := struct {
		unix.NlMsghdr
		inetDiagReq
	}{unix.NlMsghdr{Type: sockDiagByFamily, Flags: unix.NLM_F_REQUEST}, req}
	msg.Len = uint32(unsafe.Sizeof(msg))
	b := (*[unsafe.Sizeof(msg)]byte)(unsafe.Pointer(&msg))[:]
	return append([]byte(nil), b...)
}

// diagUser reads an answer. A socket that its process has closed has no inode any more,
// and is then told to be root's.
func diagUser(b []byte) (uid int, ok bool) {
	const header = int(unsafe.Sizeof(unix.NlMsghdr{}))
	if len(b) < header+int(unsafe.Sizeof(inetDiagMsg{})) {
		return 0, false
	}
	if h := (*unix.NlMsghdr)(unsafe.Pointer(&b[0])); h.Type != sockDiagByFamily {
		return 0, false
	}
	m := (*inetDiagMsg)(unsafe.Pointer(&b[header]))
	if m.inode == 0 {
		return 0, false
	}
	return identified(int(m.uid)), true
}
