package redlock

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/lockgw/lockgw/backend/dialer"
)

const (
	// DefaultMaxTTL is the longest lease unless the address says otherwise.
	DefaultMaxTTL = time.Minute

	leastNodes = 3
)

// address is what a redlock:// URL says.
type address struct {
	dialer.Address
	maxTTL time.Duration
	db     uint64
}

// parseAddress reads what all such URLs have, the path as the number of a database, and max_ttl in
// the query. An error never contains the password.
func parseAddress(raw string) (a address, err error) {
	a.maxTTL = DefaultMaxTTL
	scheme := dialer.Scheme{Name: "redlock", Port: "6379", What: "database", PasswordAlone: true, Settings: []string{"max_ttl"}, Set: a.set}
	if a.Address, err = scheme.Parse(raw); err != nil {
		return a, err
	}
	if a.Path != "" {
		a.db, err = strconv.ParseUint(a.Path, 10, 31)
	}
	switch n := len(a.Members); {
	case err != nil:
		return a, errors.New("redlock address: what follows the / has to be a database number, and a / in a password is written as %2F")
	case a.Twice != "":
		return a, fmt.Errorf("redlock address: %s is there twice, but each member must be a Redis of its own", a.Twice)
	case n < leastNodes:
		return a, fmt.Errorf("redlock address: %d members are too few for a majority that survives one of them; name at least %d "+
			"independent Redis servers, or use redis:// for a single one", n, leastNodes)
	}
	return a, nil
}

func (a *address) set(_, value string) (err error) {
	a.maxTTL, err = time.ParseDuration(value)
	if err != nil || a.maxTTL < time.Second || a.maxTTL > 24*time.Hour {
		return fmt.Errorf("max_ttl has to be a duration between 1s and 24h, such as 1m, but is %q", value)
	}
	return nil
}

// Servers reads the address of a store: one address for each server, as package redis
// takes it, and the longest lease that is granted.
func Servers(rawurl string) (urls []string, longest time.Duration, err error) {
	a, err := parseAddress(rawurl)
	if err != nil {
		return nil, 0, err
	}
	u := url.URL{Scheme: "redis", Path: fmt.Sprintf("/%d", a.db), RawQuery: a.TLS.Query()}
	if a.Password != "" {
		u.User = url.UserPassword(a.User, a.Password)
	}
	if a.TLS != nil {
		u.Scheme = "rediss"
	}
	for _, u.Host = range a.Members {
		urls = append(urls, u.String())
	}
	return urls, a.maxTTL, nil
}
