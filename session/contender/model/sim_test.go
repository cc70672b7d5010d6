package model

import (
	"flag"
	"strings"
	"testing"
	"time"
)

var (
	seeds = flag.Int("seeds", usual(300, 5), "how many schedules to simulate")
	first = flag.Uint64("seed", 1, "the first of them")
)

func TestSimulate(t *testing.T) {
	var sum SimResult
	for seed := *first; seed < *first+uint64(*seeds); seed++ {
		r := Simulate(seed, time.Hour)
		if r.Bad != "" {
			t.Fatalf("seed %d: %s\n%s", seed, r.Bad, strings.Join(r.Log, "\n"))
		}
		sum.Grants, sum.Lost, sum.Requests, sum.Kills = sum.Grants+r.Grants, sum.Lost+r.Lost, sum.Requests+r.Requests, sum.Kills+r.Kills
		sum.Crashes, sum.Failovers, sum.Conflicts = sum.Crashes+r.Crashes, sum.Failovers+r.Failovers, sum.Conflicts+r.Conflicts
	}
	t.Logf("%d hours: %d grants, %d lost, %d requests to the store, %d kills, %d crashes, %d failovers, %d conflicts", *seeds, sum.Grants, sum.Lost, sum.Requests, sum.Kills, sum.Crashes, sum.Failovers, sum.Conflicts)
	if sum.Grants < 300**seeds || sum.Kills < 10**seeds || sum.Crashes < *seeds || sum.Failovers < 3*(*seeds/3) || sum.Conflicts < *seeds {
		t.Errorf("too little has happened")
	}
}

// A third as many schedules: there is nothing but the order to look at.
func TestSimulateOrder(t *testing.T) {
	n := max(*seeds/3, 1)
	grants, requests := 0, 0
	for seed := *first; seed < *first+uint64(n); seed++ {
		r := SimulateOrder(seed, 12*time.Minute)
		if r.Bad != "" {
			t.Fatalf("seed %d: %s\n%s", seed, r.Bad, strings.Join(r.Log, "\n"))
		}
		grants, requests = grants+r.Grants, requests+r.Requests
	}
	t.Logf("%d schedules: %d grants, %d requests to the store", n, grants, requests)
	if grants < 300*n {
		t.Errorf("too little has happened")
	}
}
