//go:build race

package history_test

import "time"

// Under the race detector the gateways run with it, too.
var buildFlags = []string{"-race"}

const slow = 3 * time.Second // how late a busy machine may be
