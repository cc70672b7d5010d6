//go:build race

package main

// Under the race detector the gateways run with it, too.
var buildFlags = []string{"-race"}

const raceEnabled = true
