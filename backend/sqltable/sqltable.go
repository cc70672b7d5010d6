// Package sqltable is what the tables over SQL databases have in common: all of a Table that is
// no statement. What a request has to wait for, which run of a server a grant needs (Runs),
// whether messages arrive (Ear), in what groups leases are renewed, connections for requests
// (Pool). What a statement is and how a message travels each Database knows for itself.
package sqltable

import (
	"errors"
	"strings"

	"github.com/lockgw/lockgw/backend"
)

// hidden names are no locks: gateways try the database under them.
func hidden(name string) bool { return strings.HasPrefix(name, "lockgw:") }

// quarantined: the database answers, and grants nothing new yet.
func quarantined(err error) bool {
	var later *backend.Later
	return errors.As(err, &later)
}
