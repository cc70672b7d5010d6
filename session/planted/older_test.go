//go:build planted

package planted

// olderBugs break what is right only because a store may go back to a record that it had
// before, as when another server takes over.
var olderBugs = []bug{
	{
		name: "a hold that came back is no grant", file: "backend/ledger/step.go",
		old: "	s.Grants, s.Taken = true, true\n", new: "",
		test: model, args: []string{"-test.run=Simulate$", "-seeds=300"},
	},
	{
		name: "permits that came back count as granted", file: "backend/ledger/step.go",
		old: "max(h.Count-op.Stray, 0)", new: "h.Count",
		test: contender,
	},
	{
		name: "permits that came back are let in under", file: "session/contender/answer.go",
		old: "		h.count = min(h.count, mine.Count)\n		return false\n", new: "		h.count = mine.Count\n		return false\n",
		test: contender,
	},
	{
		name: "permits that are used are not written down again", file: "backend/ledger/step.go",
		old: "h.Count += max(min(op.Keep-h.Count, s.free(h.Mode)), 0); ", new: "",
		test: contender,
	},
	{
		name: "callers whose permits others have go on", file: "session/contender/answer.go",
		old: "len(c.in) > c.hold.count {", new: "len(c.in) > c.hold.count+len(c.in) {",
		test: contender,
	},
	{
		name: "callers whose permits others have do not ask", file: "session/contender/needs.go",
		old: "return mine != nil && mine.ID == h.id && mine.Count < len(c.in)", new: "return mine == nil",
		test: contender,
	},
	{
		name: "fences of an earlier block are given again", file: "session/contender/answer.go",
		old: "	case mine.Block > h.block:\n", new: "	case mine.Block != h.block:\n",
		test: contender,
	},
	{
		name: "fences of a block that the store has forgotten are given", file: "session/contender/answer.go",
		old: "		h.used = c.cfg.Turns\n", new: "		_ = h\n",
		test: contender,
	},
	{
		name: "what a refused write was to give back is given up", file: "session/contender/answer.go",
		old: "		c.hold.count = q.had\n", new: "",
		test: contender,
	},
}
