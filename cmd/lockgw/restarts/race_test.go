//go:build race

package restarts

// Under the race detector the gateways run with it, too.
var buildFlags = []string{"-race"}
