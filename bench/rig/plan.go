package rig

import "time"

// Plan is how much is measured.
type Plan struct {
	Callers []int         // at once, each with a name of its own
	Slice   time.Duration // of a row in one round
	Rounds  int
	Crowd   int           // callers of one name, once each
	Pass    int           // hand-offs between two nodes in one round
	Holds   int           // locks held at once
	Waits   int           // callers that wait at once
	Watch   time.Duration // how long holds and waits are watched
	Rest    time.Duration // how long a gateway at rest is watched: a round of renewals or more
	Starts  int           // of a gateway, to see how long one takes
	Many    int           // names held at once and sessions at once, on one gateway
	Crowds  int           // callers that wait on one gateway, if the files suffice
	Names   int           // that are used once
	Settle  time.Duration // after them: until the store has forgotten the last one
	Peers   bool          // measure other lock libraries too
	Lockgw  string        // path of the program; empty: build it
}

// The plans: Full is what docs/performance.md tells of, Quick takes less than 30 s.
var (
	Full = Plan{
		Callers: []int{1, 32, 256, 1000}, Slice: 300 * time.Millisecond, Rounds: 5, Crowd: 1000, Pass: 500,
		Holds: 10_000, Waits: 10_000, Watch: 6 * time.Second, Rest: 30 * time.Second, Starts: 11,
		Many: 100_000, Crowds: 50_000, Names: 1_000_000, Settle: 75 * time.Second,
	}
	Quick = Plan{
		Callers: []int{1, 32}, Slice: 80 * time.Millisecond, Rounds: 3, Crowd: 1000, Pass: 60,
		Holds: 1000, Waits: 1000, Watch: 500 * time.Millisecond, Rest: 11 * time.Second, Starts: 3,
		Many: 2000, Crowds: 2000, Names: 20_000, Settle: time.Second,
	}
)
