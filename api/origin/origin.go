// Package origin tells whether a request comes from a page of another site, or is for another
// host. A browser sends the requests of a foreign page, and says in their headers whose they
// are.
package origin

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Hosts are the names and addresses by which a gateway may be called besides those of
// the loopback interface.
type Hosts map[string]bool

// HostsOf makes Hosts of names or addresses without port.
func HostsOf(names []string) Hosts {
	set := make(Hosts, len(names))
	for _, n := range names {
		set[written(strings.ToLower(strings.Trim(n, "[]")))] = true
	}
	return set
}

// written is name, and an address in the one way in which it counts, of several for IPv6.
func written(name string) string {
	if ip, err := netip.ParseAddr(name); err == nil {
		return ip.String()
	}
	return name
}

// Allow says whether host, a Host header, means this gateway. A page that rebinds its own name to 127.0.0.1 reaches this port, but
// its browser still sends that name.
func (h Hosts) Allow(host string) bool {
	name, ok := hostName(host)
	if !ok {
		return false
	}
	if name == "localhost" || h[written(name)] {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback() && !ip.Is4In6() && ip.Zone() == ""
}

// hostName is host without its port, in lower case.
func hostName(host string) (name string, ok bool) {
	name, port := host, ""
	if strings.LastIndexByte(host, ':') > strings.LastIndexByte(host, ']') {
		var err error
		if name, port, err = net.SplitHostPort(host); err != nil {
			return "", false
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return "", false
		}
	} else if strings.HasPrefix(host, "[") {
		name = strings.TrimSuffix(host[1:], "]")
	}
	bracketed := strings.HasPrefix(host, "[")
	return strings.ToLower(name), name != "" && bracketed == strings.Contains(name, ":")
}

// CrossSite reports whether r was sent by a page of another site: a browser says on
// whose behalf it sends, and programs send none of these headers.
func CrossSite(r *http.Request) bool {
	for _, name := range []string{"Origin", "Referer"} {
		for _, from := range r.Header.Values(name) {
			if !sameOrigin(r, from) {
				return true
			}
		}
	}
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" {
			return true
		}
	}
	return false
}

func sameOrigin(r *http.Request, from string) bool {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	u, err := url.Parse(from)
	return err == nil && u.Scheme == scheme && strings.EqualFold(u.Host, r.Host)
}
