package zookeeper

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend/dialer"
)

const (
	// defaultTick is the longest that is usual: what ZooKeeper takes where nothing is set.
	defaultTick = 3 * time.Second
	leastTime   = 100 * time.Millisecond
)

// address is what a zookeeper:// URL says.
type address struct {
	dialer.Address
	session time.Duration // to ask for; 0: by the lease
	tick    time.Duration // of the servers, at most
}

// CheckURL says what is wrong with a zookeeper:// URL. The error does not have the password.
func CheckURL(raw string) error {
	_, err := parseAddress(raw)
	return err
}

// parseAddress reads what all such URLs have, and session and tick in the query.
func parseAddress(raw string) (a address, err error) {
	a.tick = defaultTick
	scheme := dialer.Scheme{Name: "zookeeper", Port: "2181", Path: "lockgw", What: "chroot", Settings: []string{"session", "tick"}, Set: a.set}
	if a.Address, err = scheme.Parse(raw); err == nil {
		err = a.check()
	}
	return a, err
}

func (a *address) set(name, value string) error {
	d, err := time.ParseDuration(value)
	if err != nil || d < leastTime || d > time.Hour {
		return fmt.Errorf("%s has to be a time from %v to %v, such as 2s, but is %q", name, leastTime, time.Hour, value)
	}
	if name == "tick" {
		a.tick = d
	} else {
		a.session = d
	}
	return nil
}

// check is what ZooKeeper takes of a path and a user.
func (a *address) check() error {
	if strings.Contains(a.User, ":") {
		return errors.New("zookeeper address: a user of ZooKeeper has no : in it")
	}
	for i, part := range strings.Split(a.Path, "/") {
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

// named: the servers know the gateway by a password or a certificate, so that what it makes
// is for those alone who show the same.
func (a *address) named() bool {
	return a.User != "" || a.TLS != nil && a.TLS.Shows()
}
