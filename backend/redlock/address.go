package redlock

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend/dialer"
	"github.com/lockgw/lockgw/backend/redis/conn"
)

const (
	// DefaultMaxTTL is the longest lease unless the address says otherwise.
	DefaultMaxTTL = time.Minute

	leastNodes = 3
)

// address is what a redlock:// URL says.
type address struct {
	hosts  []string
	maxTTL time.Duration
	login  *url.Userinfo // nil: none
	db     uint64
	tls    bool
	ca     string // a file; "": the system's roots
}

// parseAddress reads
//
//	redlock://[[user]:password@]host[:6379],host[:6379],host[:6379][,...][/db]
//
// with, in the query, max_ttl, tls=true and ca_file. It does not use package url
// for the hosts, of which that knows one. An error never contains the password.
func parseAddress(raw string) (a address, err error) {
	a = address{maxTTL: DefaultMaxTTL}
	rest, ok := strings.CutPrefix(raw, "redlock://")
	if !ok {
		return a, errors.New("redlock address: write it like redlock://host1:6379,host2:6379,host3:6379")
	}
	rest, query, _ := strings.Cut(rest, "?")
	rest, db, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if a.login, err = readLogin(rest[:at]); err != nil {
			return a, err
		}
		rest = rest[at+1:]
	}
	if db != "" {
		if a.db, err = strconv.ParseUint(db, 10, 31); err != nil {
			return a, errors.New("redlock address: what follows the / has to be a database number, " +
				"and a / in a password is written as %2F")
		}
	}
	if err := a.nodes(rest); err != nil {
		return a, err
	}
	err = a.settings(query)
	return a, err
}

func readLogin(userinfo string) (*url.Userinfo, error) {
	user, password, _ := strings.Cut(userinfo, ":")
	user, err := url.PathUnescape(user)
	password, err2 := url.PathUnescape(password)
	switch {
	case err != nil || err2 != nil: // whose words quote the password
		return nil, errors.New("redlock address: special characters in user and password have to be percent-encoded")
	case password == "": // go-redis would log in as the default user
		return nil, errors.New("redlock address: there is an @, but no password before it")
	}
	return url.UserPassword(user, password), nil
}

func (a *address) nodes(list string) error {
	for i, h := range strings.Split(list, ",") {
		if h == "" {
			return fmt.Errorf("redlock address: node %d is empty", i+1)
		}
		addr, ok := dialer.HostPort(h, "6379")
		if !ok {
			return fmt.Errorf("redlock address: node %d has to be host or host:port, such as h.example.net:6379 or [::1]:6379", i+1)
		}
		if slices.Contains(a.hosts, addr) {
			return fmt.Errorf("redlock address: %s is there twice, but each node must be a Redis of its own", addr)
		}
		a.hosts = append(a.hosts, addr)
	}
	if len(a.hosts) < leastNodes {
		return fmt.Errorf("redlock address: %d nodes are too few for a majority that survives one of them; name at least %d "+
			"independent Redis servers, or use redis:// for a single one", len(a.hosts), leastNodes)
	}
	return nil
}

func (a *address) settings(query string) error {
	q, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("redlock address: what follows the ? cannot be read")
	}
	for name, values := range q {
		if len(values) > 1 {
			return fmt.Errorf("redlock address: %s is given %d times", name, len(values))
		}
		switch v := values[0]; name {
		case "max_ttl":
			d, err := time.ParseDuration(v)
			if err != nil || d < time.Second || d > 24*time.Hour {
				return fmt.Errorf("redlock address: max_ttl has to be a duration between 1s and 24h, such as 1m, but is %q", v)
			}
			a.maxTTL = d
		case "tls":
			if v != "true" && v != "false" {
				return fmt.Errorf("redlock address: tls has to be true or false, but is %q", v)
			}
		case "ca_file":
		default:
			return fmt.Errorf("redlock address: unknown setting %q; there are max_ttl, tls and ca_file", name)
		}
	}
	a.tls, a.ca = q.Get("tls") == "true", q.Get("ca_file")
	if a.ca == "" {
		return nil
	}
	if !a.tls {
		return errors.New("redlock address: ca_file needs tls=true")
	}
	if _, err := (conn.TLSFiles{CA: a.ca}).Open(&tls.Config{MinVersion: tls.VersionTLS12}); err != nil {
		return fmt.Errorf("redlock address: %w", err)
	}
	return nil
}

// Servers reads the address of a store: one address for each node, as package redis
// takes it, and the longest lease that is granted.
func Servers(rawurl string) (urls []string, longest time.Duration, err error) {
	a, err := parseAddress(rawurl)
	if err != nil {
		return nil, 0, err
	}
	u := url.URL{Scheme: "redis", User: a.login, Path: fmt.Sprintf("/%d", a.db)}
	if a.tls {
		u.Scheme = "rediss"
	}
	if a.ca != "" {
		u.RawQuery = url.Values{"ca_file": {a.ca}}.Encode()
	}
	for _, u.Host = range a.hosts {
		urls = append(urls, u.String())
	}
	return urls, a.maxTTL, nil
}
