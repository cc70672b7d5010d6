package dialer

import (
	"net"
	"strconv"
	"strings"
)

// HostPort is a host as an address of a store has it, with port where it names none; not ok if it
// is none. An IPv6 address is in brackets: without them its last part cannot be told from a port.
func HostPort(host, port string) (addr string, ok bool) {
	name, given, err := net.SplitHostPort(host)
	if err != nil {
		name, given, err = net.SplitHostPort(host + ":" + port)
	}
	n, notNumber := strconv.ParseUint(given, 10, 16)
	if err != nil || notNumber != nil || n == 0 || name == "" || strings.ContainsAny(name, "[] @#") {
		return "", false
	}
	return net.JoinHostPort(name, given), true
}
