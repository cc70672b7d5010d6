package redlock

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

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
	common goredis.Options // of every node, but for Addr
}

// parseAddress reads
//
//	redlock://[[user]:password@]host[:6379],host[:6379],host[:6379][,...][/db]
//
// with, in the query, max_ttl, tls=true and ca_file. It does not use package url
// for the hosts, of which that knows one. An error never contains the password.
func parseAddress(raw string) (address, error) {
	a := address{maxTTL: DefaultMaxTTL}
	rest, ok := strings.CutPrefix(raw, "redlock://")
	if !ok {
		return a, errors.New("redlock address: write it like redlock://host1:6379,host2:6379,host3:6379")
	}
	rest, query, _ := strings.Cut(rest, "?")
	rest, db, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if err := a.login(rest[:at]); err != nil {
			return a, err
		}
		rest = rest[at+1:]
	}
	if db != "" {
		n, err := strconv.ParseUint(db, 10, 31)
		if err != nil {
			return a, errors.New("redlock address: what follows the / has to be a database number, " +
				"and a / in a password is written as %2F")
		}
		a.common.DB = int(n)
	}
	if err := a.nodes(rest); err != nil {
		return a, err
	}
	return a, a.settings(query)
}

func (a *address) login(userinfo string) error {
	user, password, _ := strings.Cut(userinfo, ":")
	var errs [2]error
	a.common.Username, errs[0] = url.PathUnescape(user)
	a.common.Password, errs[1] = url.PathUnescape(password)
	if errors.Join(errs[:]...) != nil { // whose words quote the password
		return errors.New("redlock address: special characters in user and password have to be percent-encoded")
	}
	if a.common.Password == "" { // go-redis would log in as the default user
		return errors.New("redlock address: there is an @, but no password before it")
	}
	return nil
}

func (a *address) nodes(list string) error {
	for i, h := range strings.Split(list, ",") {
		if h == "" {
			return fmt.Errorf("redlock address: node %d is empty", i+1)
		}
		host, port, err := net.SplitHostPort(h)
		if err != nil {
			host, port = strings.Trim(h, "[]"), "6379"
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || host == "" || strings.ContainsAny(host, " @#") {
			return fmt.Errorf("redlock address: node %d has to be host or host:port", i+1)
		}
		addr := net.JoinHostPort(host, port)
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
	return a.secure(q.Get("tls") == "true", q.Get("ca_file"))
}

// secure has the connections use TLS, trusting the system's roots or those in ca.
func (a *address) secure(on bool, ca string) error {
	switch {
	case !on && ca != "":
		return errors.New("redlock address: ca_file needs tls=true")
	case !on:
		return nil
	}
	a.common.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if _, err := (conn.TLSFiles{CA: ca}).Open(a.common.TLSConfig); err != nil {
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
	_, query, _ := strings.Cut(rawurl, "?")
	q, _ := url.ParseQuery(query) // parseAddress has read it
	u := url.URL{Scheme: "redis", Path: fmt.Sprintf("/%d", a.common.DB)}
	if a.common.TLSConfig != nil {
		u.Scheme = "rediss"
		if file := q.Get("ca_file"); file != "" {
			u.RawQuery = url.Values{"ca_file": {file}}.Encode()
		}
	}
	if a.common.Password != "" {
		u.User = url.UserPassword(a.common.Username, a.common.Password)
	}
	for _, u.Host = range a.hosts {
		urls = append(urls, u.String())
	}
	return urls, a.maxTTL, nil
}
