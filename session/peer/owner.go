package peer

import (
	"net"
	"net/netip"
	"os"
	"strconv"
)

// Owner is on whose account a descriptor goes.
type Owner struct {
	// Account is what is counted together. Session.Options.Account has it, so that a
	// session can be told whether its client was refused.
	Account string
	// address of somebody over the network who is not identified; "": identified.
	address string
	admin   bool // root, and the user of this process
}

// Accounts of clients of whom no more is known.
const (
	accountLoopback = "loopback" // over TCP on this machine, where the kernel does not tell the user
	accountNetwork  = "network"  // over TCP from elsewhere, before it is known who
	accountUnknown  = "unknown"  // a Unix socket, and a user of another user namespace
)

// User is the account of a user of this machine, whichever way it comes.
func User(uid int) Owner {
	if uid < 0 {
		return Owner{Account: accountUnknown}
	}
	return Owner{Account: "uid " + strconv.Itoa(uid), admin: uid == 0 || uid == os.Geteuid()}
}

// Admin tells whether the owner may have what is reserved for root and the user of this process.
func (o Owner) Admin() bool { return o.admin }

// Known is the account of somebody over the network who has shown a certificate or a
// token; name is what access.Caller calls them.
func Known(name string) Owner { return Owner{Account: name} }

// OwnerOf is the owner on whose account the connection c is counted, before anything was read
// from it.
func OwnerOf(c net.Conn) Owner {
	if uc, ok := c.(*net.UnixConn); ok {
		uid := -1
		_ = control(uc, func(fd int) error { // an error is that the connection is closed
			_, id, err := credentials(fd)
			if err == nil {
				uid = identified(id)
			}
			return err
		})
		return User(uid)
	}
	local, remote, ok := ends(c)
	switch {
	case !ok:
		return Owner{Account: accountNetwork, address: "?"}
	case !bothLoopback(local, remote):
		return Owner{Account: accountNetwork, address: site(remote.Addr().Unmap())}
	}
	if uid, ok := socketUser(remote, local); ok {
		return User(uid)
	}
	return Owner{Account: accountLoopback}
}

// OverLoopback tells whether c comes over TCP from this machine: if both of its ends are
// loopback addresses. The one at which it arrives does not tell. With route_localnet, which
// Kubernetes and some networks of containers set, Linux takes from its neighbours, too, what is
// addressed to 127.0.0.1.
func OverLoopback(c net.Conn) bool {
	local, remote, ok := ends(c)
	return ok && bothLoopback(local, remote)
}

func bothLoopback(local, remote netip.AddrPort) bool {
	return local.Addr().Unmap().IsLoopback() && remote.Addr().Unmap().IsLoopback()
}

// ends of c; not ok: c is not over TCP.
func ends(c net.Conn) (local, remote netip.AddrPort, ok bool) {
	local, err := netip.ParseAddrPort(c.LocalAddr().String())
	if err != nil {
		return local, remote, false
	}
	remote, err = netip.ParseAddrPort(c.RemoteAddr().String())
	return local, remote, err == nil
}

// site is what one machine has of addresses: with IPv6 that is a whole subnet.
func site(a netip.Addr) string {
	if a.Is6() {
		if p, err := a.WithZone("").Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}
