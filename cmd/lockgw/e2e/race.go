//go:build race

package e2e

// Race says whether the gateways are built with the race detector, which makes them some five times
// slower.
const Race = true

var raceFlags = []string{"-race"}
