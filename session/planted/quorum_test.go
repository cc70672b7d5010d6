//go:build planted

package planted

const zookeeper = "./backend/zookeeper"

// quorumBugs are of the tables over etcd and ZooKeeper, and of what they have in common.
var quorumBugs = []bug{
	{
		name: "a hold that ends by clocks is believed its clock", file: "backend/quorum/ends.go",
		old: "return min(first+e.TTL-at, time.Duration(e.Until-Clock())*time.Microsecond+e.TTL)", new: "return time.Duration(e.Until-Clock()) * time.Microsecond",
		test: "./backend/quorum", run: "^TestClocks$",
	},
	{
		name: "a lease may begin that is of another node", file: "backend/quorum/row.go",
		old: "case h.Node != node:", new: "case false:",
		test: "./backend/quorum", run: "^TestSwapped$",
	},
	{
		name: "a hold over ZooKeeper ends with its session, however long its lease is", file: "backend/zookeeper/session.go",
		old: "Spare: max(ttl-s.lasts(), 0)", new: "Spare: 0 * s.lasts()",
		test: zookeeper, run: "^TestDeadNode$",
	},
	{
		name: "a znode that was made anew passes for the one before", file: "backend/zookeeper/swap.go",
		old: "if at.born == 0 || s.buckets.know(asked.Name, at.born, in.version) {", new: "if true {",
		test: zookeeper, run: "^TestSweep$",
	},
	{
		name: "what is remembered of znodes outlives a restored ZooKeeper", file: "backend/zookeeper/swap.go",
		old: "return is, is.version() == asked.Base, quorum.Unasked(err)", new: "return is, err == nil, quorum.Unasked(err)",
		test: zookeeper, run: "^TestRemembered$",
	},
	{
		name: "the same place of a store that was restored is the same record", file: "backend/quorum/row.go",
		old: `"#" + r.sum() + "@"`, new: `"#0@"`,
		test: "./backend/etcd", run: "^TestRemembered$",
	},
	{
		name: "the same revision of an etcd that was restored is the same record", file: "backend/etcd/row.go",
		old: "if a.rev != 0 {", new: "if false {",
		test: "./backend/etcd", run: "^TestRemembered$",
	},
	{
		name: "an etcd in which the key of a node has gone back is trusted", file: "backend/etcd/guard.go",
		old: "|| kv != nil && kv.ModRevision < pulse", new: "&& kv != nil && pulse > 0",
		test: "./backend/etcd", run: "^TestGoneBack$",
	},
	{
		name: "fences over ZooKeeper begin anew after a record was deleted", file: "backend/zookeeper/sweep.go",
		old: "top := max(in.top, is.in.top, is.Record.Top)", new: "top := max(in.top, is.in.top)",
		test: zookeeper, run: "^TestSweep$",
	},
	{
		name: "an older copy of ZooKeeper is trusted", file: "backend/zookeeper/guard.go",
		old: "back := g.known && !(own && is >= g.pulse)", new: "back := g.known && !own",
		test: zookeeper, run: "^TestRestored$",
	},
	{
		name: "a gateway that begins after ZooKeeper was restored grants", file: "backend/zookeeper/guard.go",
		old: "g.until = max(g.until, now()+left)", new: "_ = left",
		test: zookeeper, run: "^TestRestored$",
	},
	{
		name: "a copy of ZooKeeper that is put in place again is trusted", file: "backend/zookeeper/guard.go",
		old: "if st.Version == g.birth && is == was {", new: "if st.Version == g.birth && is[0] == was[0] {",
		test: zookeeper, run: "^TestRestoredAgain$",
	},
	{
		name: "a message in ZooKeeper that was overwritten is not missed", file: "backend/zookeeper/mail.go",
		old: "o.missed = here < written", new: "",
		test: zookeeper, run: "^TestLetters$",
	},
	{
		name: "a znode stays at the version that means any", file: "backend/zookeeper/write.go",
		old: "case w.base.version+1 == skipped:", new: "case false:",
		test: zookeeper, run: "^TestSkippedVersion$",
	},
	{
		name: "what is too large for ZooKeeper is sent", file: "backend/zookeeper/write.go",
		old: "if len(text) > mostRow {", new: "if false {",
		test: zookeeper, run: "^TestTooLarge$",
	},
	{
		name: "a write over ZooKeeper whose answer was lost is not looked up", file: "backend/zookeeper/write.go",
		old: "return nil, w.cutOff(ctx, w.resolve(ctx, err))", new: "return nil, err",
		test: zookeeper, run: "^TestLostAnswer$",
	},
}
