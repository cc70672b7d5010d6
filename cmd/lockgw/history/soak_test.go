package history_test

import (
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

var (
	onlyFlag   = flag.String("scenarios", "", "TestSoak: those alone whose name contains this")
	soakFlag   = flag.Duration("soak", 0, "TestSoak: go on with new histories for so long")
	grantsFlag = flag.Int("grants", 0, "TestSoak: or until so many grants were seen")
)

// TestSoak plays the scenarios with faults in turn, each time with a new seed,
// until it has been at it for -soak or has seen -grants, and stops at the first
// history that breaks a rule. Without these flags it is skipped.
func TestSoak(t *testing.T) {
	if *soakFlag == 0 && *grantsFlag == 0 {
		t.Skip("takes long: run it with -soak 1h or -grants 100000, and -timeout 0")
	}
	program, err := e2e.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	chosen := slices.DeleteFunc(slices.Clone(disturbed), func(s scenario) bool { return !strings.Contains(s.name, *onlyFlag) })
	if len(chosen) == 0 {
		t.Fatalf("no scenario's name contains %q", *onlyFlag)
	}
	began, grants, histories, faults := time.Now(), 0, 0, 0
	for ; !t.Failed() && !enough(time.Since(began), grants); seed++ {
		s := chosen[histories%len(chosen)]
		s.faulty = 40 * time.Second
		if *durationFlag != 0 {
			s.faulty = *durationFlag
		}
		t.Run(s.name, func(t *testing.T) {
			r, vs := play(t, s, seed, program)
			report(t, r, vs)
			grants += r.rec.granted()
			faults += len(r.rec.faults)
		})
		histories++
		t.Logf("%d histories, %d grants, %d faults in %v", histories, grants, faults, time.Since(began).Round(time.Second))
	}
}

func enough(took time.Duration, grants int) bool {
	return *soakFlag > 0 && took >= *soakFlag || *grantsFlag > 0 && grants >= *grantsFlag
}
