// Package sqltable is what the tables over SQL databases have in common: connections for
// requests (Pool), what comes before the first of them (Preparation), which run of a server is
// trusted (Runs), whether messages arrive (Ear), and in what groups leases are renewed (Renew).
// What a statement is and how a message travels each database knows for itself.
package sqltable

import (
	"errors"
	"strings"

	"github.com/lockgw/lockgw/backend"
)

// Hidden names are no locks: gateways try the database under them.
func Hidden(name string) bool { return strings.HasPrefix(name, "lockgw:") }

// Reason is err without the words that say that it is a refusal.
func Reason(err error) string {
	return strings.TrimPrefix(err.Error(), backend.ErrRefused.Error()+": ")
}

// quarantined: the database answers, and grants nothing new yet.
func quarantined(err error) bool {
	var later *backend.Later
	return errors.As(err, &later)
}
