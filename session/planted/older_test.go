//go:build planted

package planted

// olderBugs break what is right only because a store may go back to a record that it had
// before, as when another server takes over.
var olderBugs = []bug{
	{
		name: "a hold that came back is no grant", file: "backend/ledger/step.go",
		old: "	s.Grants, s.Taken = true, true\n", new: "",
		test: model, args: []string{"-test.run=Simulate", "-seeds=300"},
	},
}
