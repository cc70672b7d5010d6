//go:build planted

package history_test

import "time"

// turnsAmongSharers has many who want a name alone among those who share it, so that
// a node has turns to give while others of its own wait.
var turnsAmongSharers = func() scenario {
	s := sharing
	s.name, s.callers = "turns among sharers", 6
	s.habits = []habit{{names: names("page", 1), shared: 0.3, longest: 20 * time.Millisecond, thinking: time.Millisecond}}
	return s
}()

// unhurried callers share a name for longer than one who shares it, too, may wait.
var unhurried = func() scenario {
	s := sharing
	s.name, s.callers, s.faulty = "unhurried", 8, 12*time.Second
	s.habits = nil
	for _, name := range names("quiet-page", 8) {
		s.habits = append(s.habits, habit{names: []string{name}, shared: 0.7, longest: 6 * time.Second, thinking: time.Second})
	}
	return s
}()

// tardySharers try much, and are refused much, while requests are late.
var tardySharers = func() scenario {
	s := tardy
	s.name, s.wait, s.callers, s.habits = "late requests of sharers", 3*time.Second, 15, sharers(100*time.Millisecond)
	for i := range s.habits {
		s.habits[i].tries = 0.3
	}
	return s
}()

// What several holds of one name add to go wrong.
var sharedBugs = []bug{
	{
		name: "a semaphore without a size", file: "backend/ledger/serve.go",
		old: "max(mode.Limit()-used, 0)", new: "mode.Limit()",
		s: sharing, rules: []string{"overlap", "model"},
	},
	{
		name: "who wants a name alone joins those who share it", file: "backend/ledger/serve.go",
		old: "case s.exclusive() || mode == backend.Exclusive && used > 0:", new: "case s.exclusive():",
		s: sharing, rules: []string{"overlap", "model"},
	},
}
