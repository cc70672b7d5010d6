//go:build race

package history_test

// Under the race detector the gateways run with it, too.
var buildFlags = []string{"-race"}
