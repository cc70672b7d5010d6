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
		name: "a semaphore without a size", file: "backend/redis/shares.lua",
		old: " and (tonumber(m) < 0 or redis.call('ZCARD', ends) < tonumber(m))", new: "",
		s: sharing, rules: []string{"overlap", "model"},
	},
	{
		name: "who wants a name alone joins those who share it", file: "backend/redis/common.lua",
		old: "if taken() and not room(e.mode) then", new: "if taken() and e.mode ~= '0' and not room(e.mode) then",
		s: sharing, rules: []string{"overlap", "model"},
	},
	{
		name: "who shares a name overtakes who wants it alone", file: "backend/redis/common.lua",
		old: "              return answer -- nobody overtakes it\n", new: "",
		s: sharing, rules: []string{"overtaken"},
	},
	{
		name: "who shares a name is overtaken by turns", file: "session/places.go",
		old: " && m.slotted[name] == nil {", new: " {",
		s: turnsAmongSharers, rules: []string{"order"},
	},
	{
		name: "a node queues behind its own callers", file: "backend/redis/common.lua",
		old: "  if me == node_of(me) then\n", new: "  if false then\n",
		s: turnsAmongSharers, rules: []string{"order", "overtaken"},
	},
	{
		name: "a permit that is given back is not free", file: "backend/redis/shares.lua",
		old: "  redis.call('ZREM', ends, c)\n", new: "",
		s: sharing, rules: []string{"stall", "stuck"},
	},
	{
		name: "the lock ends with the first of several holds", file: "backend/redis/shares.lua",
		old: "redis.call('ZREVRANGE', ends, 0, 0, 'WITHSCORES')\n  if not last", new: "redis.call('ZRANGE', ends, 0, 0, 'WITHSCORES')\n  if not last",
		s: sharedLeases, rules: []string{"overlap", "model"},
	},
	{
		name: "a renewal of one of several prolongs the lock alone", file: "backend/redis/renew_shares.lua",
		old: "      redis.call('ZADD', ends, string.format('%.0f', ms + ttl), contender)\n", new: "",
		s: sharedLeases, rules: []string{"overlap", "model"},
	},
	{
		name: "one of several is renewed as an exclusive hold", file: "session/turns.go",
		old: "Mode: p.hold.mode, ", new: "",
		s: sharedLeases, rules: []string{"overlap", "model"},
	},
	{
		name: "a refused acquire may still be granted", file: "session/answer.go",
		old: "	if q.unknown && p.queue.n == 0 {", new: "	if false {",
		s: tardySharers, rules: []string{"stuck", "leak"},
	},
	{
		name: "after one of several nobody else is served", file: "backend/redis/common.lua",
		old: "          if hold() then\n            return answer\n", new: "          if taken() then\n            return answer\n",
		s: unhurried, rules: []string{"stall", "stuck"},
	},
}
