//go:build planted

package planted

// voteBugs are of the register that Redlock keeps on several servers.
var voteBugs = []bug{
	{
		name: "full servers that vote keep what is given back", file: "backend/redlock/voting/acceptor.go",
		old: "s.Effects.Frees && was.local != \"\"", new: "false",
		test: "./backend/redlock", run: "^TestTableFull$",
	},
	{
		name: "a server accepts what it has promised not to", file: "backend/redlock/voting/acceptor.go",
		old: "if b.less(r.promised) {", new: "if false {",
		test: voting, run: "^TestRegister$",
	},
	{
		name: "a promise is not kept", file: "backend/redlock/voting/acceptor.go",
		old: "\t\tv.promised = b\n", new: "\t\t_ = b\n",
		test: voting, run: "^TestRegister$",
	},
	{
		name: "a minority decides", file: "backend/redlock/voting/table.go",
		old: "quorum: len(tables)/2 + 1", new: "quorum: len(tables) / 2",
		test: voting, run: "^TestRegister$",
	},
	{
		name: "what is told is not chosen first", file: "backend/redlock/voting/proposal.go",
		old: "x.votes >= t.quorum && !p.anew", new: "!p.anew",
		test: voting, run: "^TestRegister$",
	},
	{
		name: "not the newest record is taken", file: "backend/redlock/voting/reading.go",
		old: "if v.accepted.less(r.accepted) {", new: "if v.accepted == (ballot{}) {",
		test: voting, run: "^TestRegister$",
	},
	{
		name: "what may be written is told as refused", file: "backend/redlock/voting/proposal.go",
		old: "\t\tp.sent = true\n", new: "\t\t_ = 0\n",
		test: voting, run: "^TestRegister$",
	},
	{
		name: "fences of Redlock begin above the clocks alone", file: "backend/redlock/voting/reading.go",
		old: "max(x.base, backend.Fence(x.clock), r.record.Top)", new: "max(x.base, backend.Fence(x.clock))",
		test: voting, run: "^TestFencesOfForgottenNames$",
	},
	{
		name: "a hold is over that no server that was read has any more", file: "backend/redlock/voting/proposal.go",
		old: "\tif t.lost(given.rows) {\n", new: "\tif false {\n",
		test: "./backend/redlock", run: "^TestTableDeletedWhereItWasRead$",
	},
	{
		name: "a server does not say which holds its record had", file: "backend/redlock/voting/acceptor.go",
		old: "\t\t\ttook.holds = append(took.holds, h.ID)\n", new: "\t\t\t_ = h\n",
		test: "./backend/redlock", run: "^TestTableDeletedWhereItWasRead$",
	},
	{
		name: "a vote writes over any version", file: "backend/redlock/voting/reading.go",
		old: "if s.Base != x.version() {", new: "if false {",
		test: voting, run: "^TestRegister$",
	},
}
