package main

import (
	"github.com/lockgw/lockgw/bench/callers"
	"github.com/lockgw/lockgw/bench/figures"
)

const (
	soloGroup  = "each caller its own lock"
	farGroup   = "one caller, Redis 1 ms away"
	crowdGroup = "one lock for all, once each"
	passGroup  = "from node to node"
	idleGroup  = "held and waited for"
)

var targets = []figures.Target{
	{
		Name:  "one lock, all callers over the socket on Redis: time of the round trips that it needs at least",
		Bound: 1.3, Ratio: crowdAgainst(callers.SocketName, turnsName),
	},
	{
		Name:  "the same with Redis 1 ms away: time of that with a near one",
		Bound: 1.1, Ratio: crowdAgainst(distantName, callers.SocketName),
	},
	{
		Name:  "1 caller alone, over the socket on Redis: median time of a go-redis pair and 2 socket round trips",
		Bound: 1.5, Ratio: func(t *figures.Table) (float64, bool) {
			return figures.Compare(t, soloGroup, 1, func(s []figures.Sample) float64 { return float64(s[0].P50) / float64(s[1].P50+2*s[2].P50) }, callers.SocketName, plainName, limitName)
		},
	},
	{
		Name:  "1 caller alone, over HTTP on Redis: median time of a go-redis pair and 2 trivial gin requests",
		Bound: 1.4, Ratio: func(t *figures.Table) (float64, bool) {
			return figures.Compare(t, soloGroup, 1, func(s []figures.Sample) float64 { return float64(s[0].P50) / float64(s[1].P50+2*s[2].P50) }, httpName, plainName, webName)
		},
	},
	{
		Name:  "from node to node: median time of rueidislock used directly",
		Bound: 0.7, Ratio: func(t *figures.Table) (float64, bool) {
			return figures.Compare(t, passGroup, 2, func(s []figures.Sample) float64 { return float64(s[0].P50) / float64(s[1].P50) }, callers.SocketName, rueidisName)
		},
	},
	{
		Name:  "32 callers alone, over the socket on Redis: speed of bsm/redislock used directly",
		Bound: 0.6, Least: true, Ratio: func(t *figures.Table) (float64, bool) {
			return figures.Compare(t, soloGroup, 32, func(s []figures.Sample) float64 { return s[0].Rate / s[1].Rate }, callers.SocketName, redislockName)
		},
	},
	{
		Name:  "32 callers alone, over the socket on the embedded store: speed of two PINGs",
		Bound: 0.5, Least: true, Ratio: func(t *figures.Table) (float64, bool) {
			return figures.Compare(t, soloGroup, 32, func(s []figures.Sample) float64 { return s[0].Rate / (s[1].Rate / 2) }, memoryName, pingName)
		},
	},
	{
		Name:  "1 caller alone, over the socket on Redis with fairness.retain: speed of bsm/redislock used directly",
		Bound: 0.8, Least: true, Ratio: keptAgainst(1),
	},
	{
		Name:  "32 callers alone, with fairness.retain: speed of bsm/redislock used directly",
		Bound: 1, Least: true, Ratio: keptAgainst(32),
	},
}

// keptAgainst is the speed of callers of names that their gateway retains, compared with that
// of bsm/redislock.
func keptAgainst(n int) func(t *figures.Table) (float64, bool) {
	return func(t *figures.Table) (float64, bool) {
		return figures.Compare(t, soloGroup, n, func(s []figures.Sample) float64 { return s[0].Rate / s[1].Rate }, keptName, redislockName)
	}
}

// crowdAgainst is how much longer one row of a crowd took than another.
func crowdAgainst(name, other string) func(t *figures.Table) (float64, bool) {
	return func(t *figures.Table) (float64, bool) {
		return figures.Compare(t, crowdGroup, 0, func(s []figures.Sample) float64 { return s[1].Rate / s[0].Rate }, name, other)
	}
}
