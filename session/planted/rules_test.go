//go:build planted

package planted

const memory = "./backend/memory"

// ruleBugs break those rules of docs/model.md that no other list has.
var ruleBugs = []bug{
	{
		name: "an offer is renewed", file: "backend/ledger/row.go",
		old: "h.ID == id && !h.Offered", new: "h.ID == id",
		test: memory,
	},
	{
		name: "what is over is in conflict with another kind", file: "session/contender/needs.go",
		old: "\tconflict := c.queue.len() > 0 && c.copy.ConflictsAt(c.cfg.Node, c.queue.head().Mode, c.now)\n", new: "\tconflict := c.queue.len() > 0 && c.copy.Conflicts(c.cfg.Node, c.queue.head().Mode)\n",
		test: "./session/contender", run: "^TestNoConflictWithWhatIsOver$",
	},
	{
		name: "the answer to a renewal resolves what a write has done", file: "session/contender/lease.go",
		old: "\tc.renewing = false\n\tc.answeredFor(r, sentAt, err)\n", new: "\tc.renewing, c.unresolved = false, c.unresolved && err != nil\n\tc.answeredFor(r, sentAt, err)\n",
		test: model, args: []string{"-test.run=Instances", "-states=1000000", "-instance=pp,p request slow"},
	},
	{
		name: "a suspect is offered the name by who passes it on", file: "backend/ledger/step.go",
		old: "\t\ts.serve(\"\", false)\n", new: "\t\ts.serve(\"\", true)\n",
		test: ledger,
	},
	{
		name: "who has written an offer does not watch it", file: "session/contender/answer.go",
		old: "\t\t\tc.watch = true\n", new: "",
		test: contender,
	},
	{
		name: "a suspect that writes stays one", file: "backend/ledger/step.go",
		old: "waited, e.Suspect = !e.Suspect, false", new: "waited = !e.Suspect",
		test: ledger,
	},
	{
		name: "two requests at once", file: "session/contender/store.go",
		old: "\tif c.flight != nil {\n\t\treturn\n\t}\n", new: "",
		test: contender,
	},
	{
		name: "an outcome is resolved by the version that was there before", file: "session/contender/answer.go",
		old: "if written || r.Version != q.base {", new: "if written || r.Version != \"?\" {",
		test: contender,
	},
	{
		name: "who has had its turns gives nothing back", file: "backend/ledger/step.go",
		old: "op.Verb != Sync || others || spare", new: "op.Verb != Sync || spare",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=ss,x"},
	},
	{
		name: "more permits are wanted than there are", file: "session/contender/needs.go",
		old: "op.Want = min(c.queue.len(), n)", new: "op.Want = c.queue.len() + 0*n",
		test: contender,
	},
	{
		name: "a reader that turns writer keeps its share", file: "backend/ledger/step.go",
		old: " || op.Mode != h.Mode {", new: " {",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=sx,x"},
	},
	{
		name: "callers come in before a restart is confirmed", file: "session/contender/admit.go",
		old: "c.recovers || c.bar > 0", new: "c.bar > 0",
		test: contender,
	},
	{
		name: "a restart believes what it reads", file: "session/contender/answer.go",
		old: "\t\tif written {\n\t\t\tc.reclaimed", new: "\t\tif true {\n\t\t\tc.reclaimed",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=x,x kill request"},
	},
	{
		name: "a forged record is believed", file: "backend/redis/table_listen.go", run: "^TestForgedRecordGrantsNothing$",
		old: " && s.sealed(text) {", new: " {",
		test: redis,
	},
	{
		name: "the record of one who joins is not sealed", file: "backend/redis/join.lua", run: "^TestMessageBringsItsRecord$",
		old: "next_version = seal(sub(h, cut + 1))", new: "seal(h)",
		test: redis,
	},
	{
		name: "a version is used again by another process", file: "backend/redis/table_message.go", run: "^TestTable$",
		old: "return string(append(append(b, n...), seal(text)...))", new: "return string(append(append([]byte(\"AAAA0000\")[:8-len(n)], n...), seal(nil)...))",
		test: redis,
	},
	{
		name: "fences that were ahead of the clock are given again", file: "backend/redis/reserve.lua", run: "^TestTableFencesAheadOfTheClock$",
		old: "(behind or u > us + 60000000)", new: "behind",
		test: redis,
	},
	{
		name: "a record is forgotten with its last use", file: "backend/redis/swap.lua", run: "^TestTable$",
		old: "call('SET', record, all, 'PX', '60000')", new: "call('SET', record, all, 'PX', '1')",
		test: redis,
	},
}
