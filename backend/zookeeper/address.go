package zookeeper

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	defaultRoot = "/lockgw"
	defaultPort = "2181"
	// defaultTick is the longest that is usual: what ZooKeeper takes where nothing is set.
	defaultTick = 3 * time.Second
	leastTime   = 100 * time.Millisecond
)

// address is what a zookeeper:// URL says.
type address struct {
	members        []string // host:port
	root           string   // of all znodes, with a / before it and none behind
	user, password string
	tls            *tls.Config   // nil: none
	session        time.Duration // to ask for; 0: by the lease
	tick           time.Duration // of the servers, at most
}

// CheckURL says what is wrong with a zookeeper:// URL. The error does not have the password.
func CheckURL(raw string) error {
	_, err := parseAddress(raw)
	return err
}

// parseAddress reads
//
//	zookeeper://[user:password@]host[:2181][,host[:2181]...][/chroot]
//
// with, in the query, session, tick, tls=true, ca_file, cert_file and key_file.
func parseAddress(raw string) (address, error) {
	a := address{root: defaultRoot, tick: defaultTick}
	rest, ok := strings.CutPrefix(raw, "zookeeper://")
	if !ok {
		return a, errors.New("zookeeper address: write it like zookeeper://host1:2181,host2:2181,host3:2181")
	}
	rest, query, _ := strings.Cut(rest, "?")
	rest, root, _ := strings.Cut(rest, "/")
	if root = strings.TrimSuffix(root, "/"); root != "" {
		a.root = "/" + root
	}
	if err := checkRoot(a.root); err != nil {
		return a, err
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if err := a.login(rest[:at]); err != nil {
			return a, err
		}
		rest = rest[at+1:]
	}
	if err := a.hosts(rest); err != nil {
		return a, err
	}
	return a, a.settings(query)
}

func checkRoot(root string) error {
	if strings.ContainsAny(root, "@ #") {
		return errors.New("zookeeper address: the chroot after the / has an @, a # or a space in it; a / in a password is written as %2F")
	}
	for i, part := range strings.Split(root[1:], "/") {
		switch {
		case part == "" || part == "." || part == "..":
			return errors.New("zookeeper address: the chroot has an empty part, a . or a .. between its slashes")
		case i == 0 && part == "zookeeper":
			return errors.New("zookeeper address: /zookeeper is ZooKeeper's own; take another chroot")
		case strings.ContainsFunc(part, func(r rune) bool { return r < ' ' || r > '~' }):
			return errors.New("zookeeper address: the chroot may have printable ASCII alone")
		}
	}
	return nil
}

func (a *address) login(userinfo string) error {
	user, password, _ := strings.Cut(userinfo, ":")
	var errs [2]error
	a.user, errs[0] = url.PathUnescape(user)
	a.password, errs[1] = url.PathUnescape(password)
	switch {
	case errors.Join(errs[:]...) != nil: // whose words quote the password
		return errors.New("zookeeper address: special characters in user and password have to be percent-encoded")
	case a.user == "" || a.password == "":
		return errors.New("zookeeper address: there is an @, but not user:password before it")
	case strings.Contains(a.user, ":"):
		return errors.New("zookeeper address: a user of ZooKeeper has no : in it")
	}
	return nil
}

func (a *address) hosts(list string) error {
	for i, h := range strings.Split(list, ",") {
		if h == "" {
			return fmt.Errorf("zookeeper address: member %d is empty", i+1)
		}
		host, port, err := net.SplitHostPort(h)
		if err != nil {
			host, port = strings.Trim(h, "[]"), defaultPort
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || host == "" || strings.ContainsAny(host, " @#") {
			return fmt.Errorf("zookeeper address: member %d has to be host or host:port", i+1)
		}
		if addr := net.JoinHostPort(host, port); !slices.Contains(a.members, addr) {
			a.members = append(a.members, addr)
		}
	}
	return nil
}

func (a *address) settings(query string) error {
	q, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("zookeeper address: what follows the ? cannot be read")
	}
	for name, values := range q {
		if len(values) > 1 {
			return fmt.Errorf("zookeeper address: %s is given %d times", name, len(values))
		}
		switch v := values[0]; name {
		case "tls":
			if v != "true" && v != "false" {
				return fmt.Errorf("zookeeper address: tls has to be true or false, but is %q", v)
			}
		case "session", "tick":
			d, err := time.ParseDuration(v)
			if err != nil || d < leastTime || d > time.Hour {
				return fmt.Errorf("zookeeper address: %s has to be a time from %v to %v, such as 2s, but is %q", name, leastTime, time.Hour, v)
			}
			if name == "tick" {
				a.tick = d
			} else {
				a.session = d
			}
		case "ca_file", "cert_file", "key_file":
		default:
			return fmt.Errorf("zookeeper address: unknown setting %q; there are session, tick, tls, ca_file, cert_file and key_file", name)
		}
	}
	return a.secure(q)
}

// secure has the connections use TLS, trusting the system's roots or those in ca_file.
func (a *address) secure(q url.Values) error {
	ca, cert, key := q.Get("ca_file"), q.Get("cert_file"), q.Get("key_file")
	on := q.Get("tls") == "true"
	switch {
	case !on && (ca != "" || cert != "" || key != ""):
		return errors.New("zookeeper address: ca_file, cert_file and key_file need tls=true")
	case !on:
		return nil
	case (cert == "") != (key == ""):
		return errors.New("zookeeper address: cert_file and key_file belong together")
	}
	a.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return fmt.Errorf("zookeeper address: ca_file: %w", err)
		}
		a.tls.RootCAs = x509.NewCertPool()
		if !a.tls.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("zookeeper address: ca_file: no certificate in %s", ca)
		}
	}
	if cert == "" {
		return nil
	}
	if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
		return fmt.Errorf("zookeeper address: cert_file and key_file: %w", err)
	}
	a.tls.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { // it may have been renewed
		c, err := tls.LoadX509KeyPair(cert, key)
		return &c, err
	}
	return nil
}

// named: the servers know the gateway by a password or a certificate, so that what it makes
// is for those alone who show the same.
func (a *address) named() bool {
	return a.user != "" || a.tls != nil && a.tls.GetClientCertificate != nil
}
