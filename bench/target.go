package main

import "fmt"

// target is a ratio, or a figure with a unit, that lockgw should reach.
type target struct {
	name  string
	unit  string // "": a ratio
	bound float64
	least bool // bound is the lowest, not the highest
	ratio func(t *table) (ratio float64, ok bool)
}

const (
	soloGroup  = "each caller its own lock"
	farGroup   = "one caller, Redis 1 ms away"
	crowdGroup = "one lock for all, once each"
	passGroup  = "from node to node"
	idleGroup  = "held and waited for"
)

var targets = []target{
	{
		name:  "one lock, all callers over the socket on Redis: time of the round trips that it needs at least",
		bound: 1.6, ratio: crowdAgainst(socketName, turnsName),
	},
	{
		name:  "the same with Redis 1 ms away: time of that with a near one",
		bound: 1.3, ratio: crowdAgainst(distantName, socketName),
	},
	{
		name:  "1 caller alone, over the socket on Redis: median time of a go-redis pair and 2 socket round trips",
		bound: 1.3, ratio: func(t *table) (float64, bool) {
			return compare(t, soloGroup, 1, func(s []sample) float64 { return float64(s[0].p50) / float64(s[1].p50+2*s[2].p50) }, socketName, plainName, limitName)
		},
	},
	{
		name:  "32 callers alone, over the socket on Redis: speed of bsm/redislock used directly",
		bound: 0.8, least: true, ratio: func(t *table) (float64, bool) {
			return compare(t, soloGroup, 32, func(s []sample) float64 { return s[0].rate / s[1].rate }, socketName, redislockName)
		},
	},
}

// crowdAgainst is how much longer one row of a crowd took than another.
func crowdAgainst(name, other string) func(t *table) (float64, bool) {
	return func(t *table) (float64, bool) {
		return compare(t, crowdGroup, 0, func(s []sample) float64 { return s[1].rate / s[0].rate }, name, other)
	}
}

func compare(t *table, group string, callers int, f func([]sample) float64, names ...string) (float64, bool) {
	var rows []*row
	for _, name := range names {
		w := t.find(group, name, callers)
		if w == nil {
			return 0, false
		}
		rows = append(rows, w)
	}
	return over(f, rows...), true
}

// judge says whether the target was reached.
func (g target) judge(t *table) string {
	ratio, ok := g.ratio(t)
	if !ok {
		return "not measured: " + g.name
	}
	word, bound := "reached", "at most"
	if g.least {
		bound = "at least"
	}
	if g.least && ratio < g.bound || !g.least && ratio > g.bound {
		word = "MISSED"
	}
	if g.unit != "" {
		return fmt.Sprintf("%-7s  %.2f %s (%s %g)  %s", word, ratio, g.unit, bound, g.bound, g.name)
	}
	return fmt.Sprintf("%-7s  x %.2f (%s %.2f)  %s", word, ratio, bound, g.bound, g.name)
}
