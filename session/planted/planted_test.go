//go:build planted

// Package planted puts known bugs into copies of the core, one at a time, and
// expects the core's tests to find each. A rule whose bug is not found is a rule
// without a test. Run it by make planted; it compiles the tests once for each bug.
package planted

import (
	"flag"
	"slices"
	"strings"
	"testing"
)

// bug replaces old by new in file, a path from the module's root.
type bug struct {
	name string // the rule that is broken
	file string
	old  string
	new  string
	test string   // the packages whose tests have to fail, "" for session
	run  string   // which of them, "" for those that most bugs in package redis need
	args []string // of the tests of package model
}

// parts: see make planted.
const parts = 10

var part = flag.Int("part", 0, "of the bugs only this tenth: 1 to 10")

func TestPlanted(t *testing.T) {
	plant(t, func(pkg string) bool { return pkg != redis && !heart(pkg) })
}

// TestPlantedScripts takes longer: its tests ask a real Redis.
func TestPlantedScripts(t *testing.T) {
	plant(t, func(pkg string) bool { return pkg == redis })
}

// TestPlantedHeart has what the rules of a lock are made of.
func TestPlantedHeart(t *testing.T) { plant(t, heart) }

func heart(pkg string) bool {
	return pkg == ledger || pkg == contender || pkg == model || pkg == engine || pkg == memory
}

const (
	ledger    = "./backend/ledger"
	contender = "./session/contender"
	model     = "./session/contender/model"
	engine    = "./session/engine"
	redis     = "./backend/redis"
	voting    = "./backend/redlock/voting"
)

func plant(t *testing.T, which func(pkg string) bool) {
	if *part < 0 || *part > parts {
		t.Fatalf("-part = %d, want 1 to %d, or 0 for all", *part, parts)
	}
	n := 0
	for _, b := range slices.Concat(bugs, lifeBugs, heartBugs, olderBugs, ruleBugs, holdBugs, voteBugs, quorumBugs) {
		if !which(b.test) {
			continue
		}
		if n++; *part == 0 || n%parts == *part-1 {
			t.Run(strings.ReplaceAll(b.name, " ", "-"), func(t *testing.T) {
				t.Parallel()
				find(t, b)
			})
		}
	}
}
