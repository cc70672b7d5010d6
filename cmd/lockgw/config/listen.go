package config

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// CheckListen refuses an address that other machines can reach if nothing identifies the
// callers, or if the tokens would travel unencrypted.
func CheckListen(address string, tls TLS, tokens bool) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is no address such as 127.0.0.1:7420 or [::1]:7420", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q has no port from 0 to 65535", address)
	}
	if isLoopback(host) || tls.Enabled() && (tls.asksForClient() || tokens) {
		return nil
	}
	return fmt.Errorf("%q can be reached from other machines, which needs http.tls with cert_file and key_file, "+
		"and client_ca_file or access.tokens_file to know who calls; listen on 127.0.0.1 otherwise", address)
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// checkListenOnce refuses an address of which one of those before it takes the port: the
// gateway would wait there for itself, and tell of another program.
func checkListenOnce(address string, before []string) error {
	at, ok := listenAt(address)
	for _, other := range before {
		switch with, same := listenAt(other); {
		case address == other && !strings.HasSuffix(address, ":0"): // the kernel chooses for a 0
			return fmt.Errorf("%q is given twice", address)
		case ok && same && at.overlaps(with):
			return fmt.Errorf("%q cannot be had beside %q, which takes the same port of the same address", address, other)
		}
	}
	return nil
}

// place is a port of an address; of every address, if that is none in particular.
type place struct{ netip.AddrPort }

func (p place) overlaps(o place) bool {
	every := p.Addr().IsUnspecified() || o.Addr().IsUnspecified()
	return p.Port() != 0 && p.Port() == o.Port() && (every || p.Addr() == o.Addr())
}

// listenAt is where address listens, if that can be told without asking another machine.
func listenAt(address string) (place, bool) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return place{}, false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return place{}, false
	}
	if host == "" { // as 0.0.0.0 and ::, which listen on every address of both kinds
		return place{netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(n))}, true
	}
	if strings.EqualFold(host, "localhost") {
		found, err := net.ResolveTCPAddr("tcp", address) // as net.Listen does
		if err != nil {
			return place{}, false
		}
		host = found.IP.String()
	}
	addr, err := netip.ParseAddr(host)
	return place{netip.AddrPortFrom(addr.Unmap(), uint16(n))}, err == nil
}
