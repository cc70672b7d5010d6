package history_test

import (
	"fmt"
	"time"
)

// scenario is what the callers do, what goes wrong meanwhile, and what may not
// come of it.
type scenario struct {
	name    string
	scheme  string        // of the store, as in stores; "": redis
	faulty  time.Duration // how long the nemeses are at work
	calm    time.Duration // how long the callers go on after that
	callers int           // of each gateway
	habits  []habit
	ttl     [2]time.Duration
	wait    time.Duration // the longest
	abandon bool          // some holds are left to their lease
	nemeses int
	faults  []fault

	forgets bool          // the store loses grants, so exclusion is not promised
	guarded bool          // gateways grant nothing new then until its quarantine is over
	ordered bool          // nothing disturbs the order of the callers of a node
	scripts float64       // most scripts in the store for each grant, 0: not counted
	stall   time.Duration // longest time that a name may lie idle while somebody waits
}

func names(prefix string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%s-%d", prefix, i))
	}
	return all
}

func habits(longest time.Duration) []habit {
	return []habit{
		{names: names("hot", 2), longest: 200 * time.Microsecond, thinking: 2 * time.Millisecond},
		{names: names("slow", 3), longest: longest, thinking: 50 * time.Millisecond, tries: 0.05},
		{names: names("rare", 16), longest: 20 * time.Millisecond, thinking: 10 * time.Millisecond, tries: 0.3},
		{names: names("once", 500), longest: 20 * time.Millisecond, thinking: 10 * time.Millisecond, tries: 0.5},
	}
}

// pensive callers meet at a name, one of each gateway, and stay away from it for
// long: nobody comes by who would wake a forgotten waiter.
func pensive(n int) (all []habit) {
	for _, name := range names("quiet", n) {
		all = append(all, habit{names: []string{name}, longest: 50 * time.Millisecond, thinking: 10 * time.Second})
	}
	return all
}

// sharers meet at names that several may hold at once: locks that most of them share,
// one of them hot, and semaphores.
func sharers(longest time.Duration) []habit {
	return []habit{
		{names: names("hot-page", 1), shared: 0.8, longest: time.Millisecond, thinking: 2 * time.Millisecond},
		{names: names("page", 2), shared: 0.7, longest: longest, thinking: 20 * time.Millisecond, tries: 0.1},
		{names: names("two", 2), permits: 2, longest: longest, thinking: 20 * time.Millisecond, tries: 0.1},
		{names: names("three", 1), permits: 3, longest: time.Millisecond, thinking: 2 * time.Millisecond},
		{names: names("four", 1), permits: 4, longest: longest, thinking: 10 * time.Millisecond},
	}
}

// pensiveSharers stay away from their name for long, too. Nine meet at each.
func pensiveSharers() (all []habit) {
	for _, h := range []habit{
		{names: names("quiet-page", 1), shared: 0.6}, {names: names("quiet-book", 1), shared: 0.4},
		{names: names("quiet-two", 1), permits: 2}, {names: names("quiet-three", 1), permits: 3},
	} {
		h.longest, h.thinking = 500*time.Millisecond, 5*time.Second
		all = append(all, h)
	}
	return all
}

// The scenarios. In "leases" leases are short and holders die, so that most of what
// goes wrong ends with a lease. In "hand-offs" leases are long, so that nothing but
// the protocol can bring a name on; a name left behind would be seen idle. In
// "silence" only messages suffer, in "amnesia" the store forgets, and in "quarantine" the
// gateways know how to live with that. The callers of the "shared" ones share names.
var (
	calm = scenario{
		name: "calm", faulty: 3 * time.Second, callers: 9, habits: habits(20 * time.Millisecond),
		ttl: [2]time.Duration{10 * time.Second, 30 * time.Second}, wait: 20 * time.Second,
		ordered: true, scripts: 3, stall: 2 * time.Second,
	}
	leases = scenario{
		name: "leases", faulty: 13 * time.Second, calm: 5 * time.Second, callers: 12, habits: habits(2500 * time.Millisecond),
		ttl: [2]time.Duration{time.Second, 3 * time.Second}, wait: 4 * time.Second, abandon: true,
		nemeses: 2, faults: anyFault, stall: 8 * time.Second,
	}
	handOffs = scenario{
		name: "hand-offs", faulty: 10 * time.Second, calm: 10 * time.Second, callers: 12, habits: habits(100 * time.Millisecond),
		ttl: [2]time.Duration{30 * time.Second, 40 * time.Second}, wait: 30 * time.Second,
		nemeses: 2, faults: briefFaults, stall: 5 * time.Second,
	}
	silence = scenario{
		name: "silence", faulty: 10 * time.Second, calm: 6 * time.Second, callers: 12, habits: pensive(12),
		ttl: [2]time.Duration{30 * time.Second, 40 * time.Second}, wait: 30 * time.Second,
		nemeses: 2, faults: messageFaults, stall: 5 * time.Second,
	}
	amnesia = scenario{
		name: "amnesia", faulty: 8 * time.Second, calm: 4 * time.Second, callers: 9, habits: habits(500 * time.Millisecond),
		ttl: [2]time.Duration{time.Second, 3 * time.Second}, wait: 4 * time.Second, abandon: true,
		nemeses: 1, faults: []fault{{"empty store", emptyStore}, {"kill gateway", killGateway}, {"cut messages", cutMessages}},
		forgets: true, stall: 8 * time.Second,
	}
	quarantine = scenario{
		name: "quarantine", faulty: 10 * time.Second, calm: 8 * time.Second, callers: 9, habits: habits(500 * time.Millisecond),
		ttl: [2]time.Duration{time.Second, 3 * time.Second}, wait: 4 * time.Second, abandon: true,
		nemeses: 1, faults: []fault{{"empty store", emptyStore}, {"kill gateway", killGateway}, {"cut messages", cutMessages}},
		guarded: true, stall: 12 * time.Second,
	}
	sharing = scenario{
		name: "shared", faulty: 3 * time.Second, callers: 15, habits: sharers(20 * time.Millisecond),
		ttl: calm.ttl, wait: 20 * time.Second, ordered: true, stall: 2 * time.Second,
	}
	sharedLeases   = shares(leases, 15, sharers(2*time.Second))
	sharedHandOffs = shares(handOffs, 15, sharers(100*time.Millisecond))
	sharedSilence  = shares(silence, 12, pensiveSharers())
	sharedAmnesia  = shares(amnesia, 15, sharers(500*time.Millisecond))
	sharedGuard    = shares(quarantine, 15, sharers(500*time.Millisecond))
)

// shares is s with callers that share names.
func shares(s scenario, callers int, habits []habit) scenario {
	s.name, s.callers, s.habits = "shared-"+s.name, callers, habits
	return s
}

// everyday is what TestHistories plays; TestSoak has all that are disturbed, for
// longer.
var everyday = []scenario{
	calm, sharing, leases, handOffs, silence, amnesia, quarantine, brief(sharedLeases), brief(sharedHandOffs),
}

// another is one more for TestHistories, brief and over another store than Redis: the seed says
// which, so that all have their turn.
func another(seed uint64) scenario {
	scheme := []string{"postgres", "mysql", "etcd", "zookeeper"}[seed%4]
	s := []scenario{leases, sharedLeases}[seed/4%2] // those of TestSoak with long leases take a minute more
	return brief(on(scheme, s))
}

func brief(s scenario) scenario {
	s.faulty, s.calm = 5*time.Second, 2*time.Second
	return s
}

// disturbed are the scenarios in which something goes wrong, each over all stores.
var disturbed = func() (all []scenario) {
	for _, s := range []scenario{
		leases, handOffs, silence, amnesia, quarantine,
		sharedLeases, sharedHandOffs, sharedSilence, sharedAmnesia, sharedGuard,
	} {
		all = append(all, s, on("postgres", s), on("mysql", s))
		if !s.forgets { // gateways always notice that these have
			all = append(all, on("etcd", s), on("zookeeper", s))
		}
	}
	for _, s := range []scenario{leases, handOffs, silence} { // exclusive alone, and always guarded
		all = append(all, on("redlock", s), on("redlock-5", s))
	}
	return all
}()
