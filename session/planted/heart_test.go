//go:build planted

package planted

// heartBugs break the rules of backend/ledger and session/contender. Each is found by a
// test of a step, by an instance of the model, or by the simulator; some bugs are of session/engine.
var heartBugs = []bug{
	{
		name: "a store passes on what is not over", file: "backend/ledger/row.go",
		old: "h != nil && h.End > now", new: "h != nil && false",
		test: ledger,
	},
	{
		name: "a store writes over any version", file: "backend/ledger/row.go",
		old: "if s.Base != r.Version {", new: "if false {",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=x,x"},
	},
	{
		name: "a write undoes a renewal", file: "backend/ledger/row.go",
		old: "\t\t\th.End = was.End\n", new: "",
		test: ledger,
	},
	{
		name: "a write without an answer is forgotten", file: "session/contender/answer.go",
		old: "\t\t\tc.unresolved = true\n", new: "",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=x,x request withdraw"},
	},
	{
		name: "callers are let in while the hold is given back", file: "session/contender/admit.go",
		old: "h.giving || ", new: "",
		test: contender,
	},
	{
		name: "deadline from the answer", file: "session/contender/lease.go",
		old: "h.deadline = q.SentAt + q.ttl - c.cfg.Margin(q.ttl)", new: "h.deadline = c.now + q.ttl - c.cfg.Margin(q.ttl)",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=x,x stop"},
	},
	{
		name: "renewed deadline from the answer", file: "session/contender/lease.go",
		old: "sentAt+ttl-c.cfg.Margin(ttl))\n\t\th.renewAt", new: "c.now+ttl-c.cfg.Margin(ttl))\n\t\th.renewAt",
		test: contender,
	},
	{
		name: "told without a look at the deadline", file: "session/contender/callers.go",
		old: "\tc.now = now\n\tc.expire()\n\tok := w", new: "\tc.now = now\n\tok := w",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=x,x stop"},
	},
	{
		name: "a hold that is seen counts as granted", file: "session/contender/answer.go",
		old: "\t\tif written && mine != nil {\n\t\t\tc.grantedHold", new: "\t\tif mine != nil {\n\t\t\tc.grantedHold",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=x,x request"},
	},
	{
		name: "callers come in although others wait", file: "session/contender/admit.go",
		old: "if h := &c.hold; h.others {", new: "if h := &c.hold; false {",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=ss,x"},
	},
	{
		name: "a permit that nobody uses is kept", file: "backend/ledger/step.go",
		old: "others || spare || op", new: "others || spare && false || op",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=pp,p"},
	},
	{
		name: "a permit that is being given back is let in under", file: "session/contender/needs.go",
		old: "\th.count = min(h.count, mine.Count)\n", new: "",
		test: contender,
	},
	{
		name: "one who does not want to wait is not answered when a hold has just gone", file: "session/contender/store.go",
		old: "\tc.left()\n\tfor ", new: "\tfor ",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=xx,x retain try"},
	},
	{
		name: "who stands behind one who is refused is not let in", file: "session/contender/store.go",
		old: "\t\tc.admit()\n\t}\n\tif c.hold.id", new: "\t}\n\tif c.hold.id",
		test: contender,
	},
	{
		name: "a hold that was lost is told as written", file: "session/contender/answer.go",
		old: "\tc.seeOthers(c.compare(q, written))\n\tif written && q.describe {\n\t\tc.described()\n\t}\n", new: "\tif written && q.describe {\n\t\tc.described()\n\t}\n\tc.seeOthers(c.compare(q, written))\n",
		test: contender,
	},
	{
		name: "a lease that is made shorter as it is taken up after a restart counts as long", file: "session/contender/needs.go",
		old:  "\th.deadline = min(h.deadline, c.now+ttl-c.cfg.Margin(ttl))\n\tif h.id == 0 || c.recovers {\n\t\treturn\n\t}\n",
		new:  "\tif h.id == 0 || c.recovers {\n\t\treturn\n\t}\n\th.deadline = min(h.deadline, c.now+ttl-c.cfg.Margin(ttl))\n",
		test: contender,
	},
	{
		name: "a lease that is taken up after a restart has the margin of a shorter one", file: "session/contender/recover.go",
		old: "cfg.leaseFor(past.Deadline-now)", new: "past.Deadline-now+cfg.Margin(w.TTL)",
		test: contender,
	},
	{
		name: "a recall has no end", file: "session/contender/recall.go",
		old: "\treturn c.now < c.recall.until\n", new: "\treturn c.recall.until > 0\n",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=x,x retain try"},
	},
	{
		name: "a hold that was broken is restored", file: "backend/ledger/step.go",
		old: "s.Broken == op.Hold ||", new: "",
		test: contender,
	},
	{
		name: "a caller that was broken goes on", file: "session/contender/answer.go",
		old: "\tc.endBroken(mine)\n\tgrew", new: "\tgrew",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=ss,x break"},
	},
	{
		name: "a caller that was broken while its gateway was away goes on", file: "session/contender/answer.go",
		old: "\tc.settled(q)\n\tc.endBroken(mine)\n", new: "\tc.settled(q)\n",
		test: contender,
	},
	{
		name: "a restart writes over who was broken", file: "backend/ledger/step.go",
		old: "if s.op.Verb != Reclaim { // which", new: "if true { // which",
		test: contender,
	},
	{
		name: "a block although others wait", file: "backend/ledger/step.go",
		old: "\tif others {\n\t\treturn want\n\t}\n", new: "",
		test: ledger,
	},
	{
		name: "who lets an offer run out keeps its turn", file: "backend/ledger/suspect.go",
		old: "\te.Suspect = true\n", new: "",
		test: ledger,
	},
	{
		name: "a dead node stands in the queue for ever", file: "backend/ledger/suspect.go",
		old: "if e.Suspect && unheard {", new: "if false {",
		test: contender,
	},
	{
		name: "dead nodes fill the record", file: "backend/ledger/suspect.go",
		old: "if n++; n > mostSuspects {", new: "if n++; false {",
		test: contender,
	},
	{
		name: "a reader passes a writer", file: "backend/ledger/serve.go",
		old: "\t\tif n == 0 {\n\t\t\treturn false\n\t\t}\n", new: "\t\tif n == 0 {\n\t\t\tcontinue\n\t\t}\n",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=sx,s"},
	},
	{
		name: "no record of the intent", file: "session/contender/needs.go",
		old: "\t\tc.journal(Intent, nil)\n", new: "",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=x,x kill"},
	},
	{
		name: "a restart reads and does not write", file: "session/contender/recover.go",
		old: "now: now, recovers: true", new: "now: now, recovers: len(past.Callers) > 0",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=x,x kill"},
	},
	{
		name: "no record of a caller that is let in", file: "session/contender/callers.go",
		old: "\t\tc.journal(LetIn, w)\n", new: "",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=x,x kill"},
	},
	{
		name: "no record of the end", file: "session/contender/callers.go",
		old: "Entry{Kind: End, Caller: w, Hold: c.hold.id, Deadline: c.StoreEnd(), Reason: reason})", new: "[]Entry{}...)",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=x,x kill"},
	},
	{
		name: "no record of a later deadline", file: "session/contender/lease.go",
		old: "\tif c.hold.deadline <= before {\n", new: "\tif true {\n",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=x,x kill"},
	},
	{
		name: "a message is forgotten when an older answer comes", file: "session/contender/store.go",
		old: "\t\tc.nudged = c.flight != nil // whose answer may be a grant, and older than this\n", new: "",
		test: contender,
	},
	{
		name: "a hold that came back is left to its lease", file: "session/contender/store.go",
		old: "\t\tc.look = c.look || c.cameBack(r)\n", new: "",
		test: contender,
	},
	{
		name: "what a message says of our own hold is believed", file: "session/contender/store.go",
		old: " &&\n\t\tr.Record.Firm(c.cfg.Node).Same(c.copy.Firm(c.cfg.Node))", new: "",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=ss,x carry break"},
	},
	{
		name: "an old record that comes with a message is believed", file: "session/contender/store.go",
		old: " && r.Clock >= c.clock", new: "",
		test: contender,
	},
	{
		name: "the record of who waits is not believed", file: "session/contender/store.go",
		old: "\treturn c.flight == nil", new: "\treturn c.hold.id == 0 && c.flight == nil",
		test: contender,
	},
	{
		name: "a message is forgotten while an answer is under way", file: "session/contender/store.go",
		old: "\tcase ledger.Look:\n\t\tc.look = true\n", new: "\tcase ledger.Look:\n\t\tc.look = c.flight == nil\n",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=x,x"},
	},
	{
		name: "no timer for a holder that dies", file: "session/contender/lease.go",
		old: "\t\t\t\tdue(h.End)\n", new: "",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=x,x stop"},
	},
	{
		name: "an offer that nobody wants is kept", file: "session/contender/needs.go",
		old: "\t\t\tif c.copy.Has(c.cfg.Node) {\n\t\t\t\top.Verb = ledger.Leave\n\t\t\t}\n", new: "",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=x,x request withdraw"},
	},
	{
		name: "a reader becomes a writer beside others", file: "backend/ledger/serve.go",
		old: "used += h.Count\n", new: "if h.Node != s.op.Node {\n\t\t\tused += h.Count\n\t\t}\n",
		test: ledger,
	},
	{
		name: "who holds is not told that others wait", file: "backend/ledger/step.go",
		old: "\t\t\ts.tellHolders(me)\n", new: "",
		test: ledger,
	},
	{
		name: "who holds is not told of one who joins", file: "backend/ledger/row.go",
		old: "\ts.tellHolders(e.Node)\n", new: "",
		test: ledger,
	},
	{
		name: "who joins a name that nobody has stays", file: "backend/ledger/row.go",
		old: "len(n.Holds) == 0 || !n.Join(e)", new: "!n.Join(e)",
		test: ledger,
	},
	{
		name: "an offer is not told", file: "backend/ledger/serve.go",
		old: "s.op.OfferTTL)\n\ts.tell(e.Node, Look)\n", new: "s.op.OfferTTL)\n",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=x,x"},
	},
	{
		name: "an offer never runs out", file: "backend/ledger/step.go",
		old: "!unheard && h.End > s.now", new: "!unheard && (h.Offered || h.End > s.now)",
		test: ledger,
	},
	{
		name: "an offer of which nobody heard is waited for", file: "session/contender/answer.go",
		old: "\t\t\t\tc.unheard = append(c.unheard, h.ID)\n", new: "",
		test: contender,
	},
	{
		name: "who leaves keeps its place", file: "backend/ledger/step.go",
		old: "\tcase want == 0:\n\t\ts.dequeue(s.op.Node)\n\t\treturn false\n", new: "\tcase want == 0:\n\t\treturn false\n",
		test: ledger,
	},
	{
		name: "who leaves keeps its hold", file: "backend/ledger/step.go",
		old: "\tif op.Verb == Leave {\n\t\top.Keep = 0\n\t}\n", new: "\tif op.Verb == Leave {\n\t\top.Keep = 1\n\t}\n",
		test: ledger,
	},
	{
		name: "permits that became free count as new ones", file: "session/contender/answer.go",
		old: "h.allow = min(c.askers(), grew)", new: "h.allow = c.askers()",
		test: contender,
	},
	{
		name: "a part of the permits costs the place", file: "backend/ledger/serve.go",
		old: "\t\t\tif s.Queue[i].Want -= n; s.Queue[i].Want == 0 {", new: "\t\t\tif s.Queue[i].Want -= n; s.Queue[i].Want > 0 {\n\t\t\t\tx := s.Queue[i]\n\t\t\t\ts.dequeue(x.Node)\n\t\t\t\ts.enqueue(x)\n\t\t\t} else if s.Queue[i].Want == 0 {",
		test: ledger,
	},
	{
		name: "more permits are wanted in front", file: "backend/ledger/step.go",
		old: "\tcase e.Node != s.Queue[len(s.Queue)-1].Node:\n\t\twant = min(want, e.Want)\n", new: "",
		test: ledger,
	},
	{
		name: "who was not told is forgotten", file: "session/contender/callers.go",
		old: "\t\tc.queue.pushFront(w)\n", new: "",
		test: contender,
	},
	{
		name: "no loss at the deadline", file: "session/contender/callers.go",
		old: "\tif c.now >= c.hold.deadline {", new: "\tif false {",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=x,x slow"},
	},
	{
		name: "who comes while the grant is under way counts as there before", file: "session/contender/answer.go",
		old: " && c.queue.ws[n].asked", new: "",
		test: contender,
	},
	{
		name: "let in after the deadline", file: "session/contender/admit.go",
		old: " || c.now >= h.deadline {", new: " {",
		test: contender,
	},
	{
		name: "a hold that is lost is not given back", file: "session/contender/store.go",
		old: "(c.now >= h.deadline || c.bar > 0) {", new: "c.bar > 0 {",
		test: contender,
	},
	{
		name: "more come in than stood here when others came", file: "session/contender/store.go",
		old: "\t\tc.hold.allow = c.fitting()\n", new: "\t\tc.hold.allow = 100\n",
		test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=ss,x"},
	},
	{
		name: "a message is believed without a look", file: "session/contender/needs.go",
		old: "\tdefault: // told by a message alone that others wait: have a look\n", new: "\tdefault:\n\t\treturn false\n",
		test: contender,
	},
	{
		name: "what a node has beside its hold stays", file: "session/contender/needs.go",
		old: " || len(c.copy.Holds) != 1", new: "",
		test: contender,
	},
	{
		name: "a hold that is not the one that is known counts as it", file: "session/contender/needs.go",
		old: "mine.ID == c.hold.id && !mine.Offered", new: "!mine.Offered",
		test: contender,
	},
	{
		name: "an offer that ran out stays", file: "backend/ledger/step.go",
		old: "\t\ts.serve(\"\", false)\n", new: "",
		test: ledger,
	},
	{
		name: "nobody watches an offer", file: "backend/ledger/serve.go",
		old: "\t\t\t\ts.tell(next, Look)\n", new: "\t\t\t\t_ = next\n",
		test: ledger,
	},
	{
		name: "a reader beside a writer", file: "backend/ledger/serve.go",
		old: "case s.exclusive() || mode", new: "case mode",
		test: ledger,
	},
	{
		name: "who does not want to wait is queued", file: "backend/ledger/step.go",
		old: "\tif s.op.Try {\n\t\ts.dequeue(me)\n\t}\n", new: "",
		test: ledger,
	},
	{
		name: "a lease that somebody knows of is made shorter", file: "session/contender/needs.go",
		old: "op.TTL = max(op.TTL, w.TTL, c.hold.ttl)", new: "op.TTL = max(op.TTL, w.TTL)",
		test: model, args: []string{"-test.run=Simulate$", "-seeds=400"},
	},
	{
		name: "a lease that is made shorter counts as long until the answer", file: "session/contender/needs.go",
		old: "\th.deadline = min(h.deadline, c.now+ttl-c.cfg.Margin(ttl))\n", new: "",
		test: contender,
	},
	{
		name: "where the order is strict, one who came after others elsewhere is let in", file: "session/contender/admit.go",
		old: "OthersCame(c.cfg.Node, w.came)", new: "OthersCame(c.cfg.Node, 0)",
		test: model, args: []string{"-test.run=SimulateOrder", "-seeds=300"},
	},
	{
		name: "where the order is strict, who is behind one that was offered a permit counts for nothing", file: "backend/ledger/record.go",
		old: "r.missing(e) > 0 || e.Mode.Limit() > 0", new: "r.missing(e) > 0",
		test: model, args: []string{"-test.run=SimulateOrder", "-seeds=300"},
	},
	{
		name: "where the order is strict, who shares waits until others have taken what they were offered", file: "backend/ledger/record.go",
		old: "r.missing(e) > 0 || e.Mode.Limit() > 0", new: "true",
		test: contender,
	},
	{
		name: "a write that lost a race makes the lease shorter", file: "session/contender/answer.go",
		old: "\t} else {\n\t\tc.lasts(q)\n", new: "",
		test: contender,
	},
	{
		name: "what a lost race has left of the lease is not in the journal", file: "session/contender/answer.go",
		old: "\t\tc.prolonged(before)\n\t}\n}\n\n// retryLater", new: "\t}\n}\n\n// retryLater",
		test: contender,
	},
	{
		name: "a renewal that counted for little because of a lost race is not made up for", file: "session/contender/lease.go",
		old: " && !c.wanting()", new: "",
		test: contender,
	},
	{
		name: "what a dead node had alone is not kept from all for the delay", file: "backend/ledger/step.go",
		old: "\ts.bar(delay)\n", new: "\t_ = delay\n",
		test: ledger,
	},
	{
		name: "the first of those who wait hears alone that a lost name is kept from all", file: "backend/ledger/break.go",
		old: "\t\ts.tell(e.Node, Look)\n", new: "\t\ts.tell(e.Node, Look)\n\t\tbreak\n",
		test: ledger,
	},
	{
		name: "a name that one alone lost by the end of its lease may be had at once", file: "session/contender/callers.go",
		old: "return w.phase == told }) {", new: "return false }) {",
		test: contender,
	},
	{
		name: "who shares is refused where the lease is about to end", file: "session/contender/needs.go",
		old: "\t\tcase w.NoWait && slices.Index(c.queue.ws, w) < c.welcome():\n", new: "",
		test: contender,
	},
	{
		name: "where the order is strict, the next caller of a node that has a permit is not in line", file: "backend/ledger/strict.go",
		old: "if e.Then == 0 {", new: "if true {",
		test: model, args: []string{"-test.run=Instances", "-states=20000", "-instance=ppp,p strict"},
	},
	{
		name: "who waits leaves the line with a lease that is over", file: "session/contender/needs.go",
		old: "if c.queue.len() > 0 { // who lost the lease stays in line", new: "if false {",
		test: contender,
	},
	{
		name: "a hold kept for a while is forgotten by a restart", file: "session/contender/recover.go",
		old: "if w.phase = told; w.Kept {", new: "if w.phase = told; w.MinHoldAt != 0 {",
		test: model, args: []string{"-test.run=Simulate$", "-seeds=400"},
	},
	{
		name: "fences of a new record by the clock of the gateway", file: "backend/ledger/row.go",
		old: "if r.Version == \"\" && !s.Absolute {", new: "if false {",
		test: ledger,
	},
	{
		name: "a forgotten hold is written down over a later grant", file: "backend/ledger/step.go",
		old: "granted := s.Top > op.Floor", new: "granted := false",
		test: ledger,
	},
	{
		name: "a lock joins a semaphore", file: "backend/ledger/row.go",
		old: "r.Conflicts(e.Node, e.Mode) || r.Entry", new: "r.Entry",
		test: ledger,
	},
	{
		name: "a holder outside lockgw is written down", file: "backend/ledger/codec.go",
		old: "if slices.ContainsFunc(r.Holds, isOutside) {", new: "if false {",
		test: ledger,
	},
	{
		name: "an unknown outcome is resolved by a look", file: "session/contender/needs.go",
		old: "forced := c.unresolved || ", new: "c.unresolved = false\n\tforced := ",
		test: contender,
	},
	{
		name: "the store is not told of entries", file: "session/contender/needs.go",
		old: "c.recovers || c.describe || settling", new: "c.recovers || settling",
		test: contender,
	},
	{
		name: "a hold is not kept for the next caller", file: "session/contender/store.go",
		old: "	return c.cfg.Retain > 0 &&", new: "	return false &&",
		test: contender,
	},
	{
		name: "a forgotten hold is lost", file: "session/contender/answer.go",
		old: "	if c.restores(c.hold.id) && !c.hold.broken &&", new: "	if false &&",
		test: contender,
	},
	{
		name: "a renewal counts in full beside a write of a shorter lease", file: "session/contender/prolong.go",
		old: "\treturn min(ttl, c.least)\n", new: "\treturn ttl\n",
		test: contender,
	},
	{
		name: "a write of an earlier process is forgotten beside a renewal", file: "session/contender/recover.go",
		old: "\tc.least = 1 // a write of the earlier process may come\n", new: "",
		test: contender,
	},
	{
		name: "a write without an answer is forgotten beside a renewal", file: "session/contender/prolong.go",
		old: "c.asking == 0 && !c.unresolved && !c.recovers", new: "c.asking == 0 && !c.recovers",
		test: contender,
	},
	{
		name: "a renewal under way is forgotten when a write is sent", file: "session/contender/prolong.go",
		old: "\tif c.asking == 0 && !c.unresolved", new: "\tif !c.unresolved",
		test: contender,
	},
	{
		name: "a lease is as short as it was for who prolongs a fixed one", file: "session/contender/prolong.go",
		old: "\t\tw.Until = until\n", new: "",
		test: contender,
	},
	{
		name: "a fixed lease that is prolonged becomes shorter", file: "session/contender/prolong.go",
		old: " && until > w.Until {", new: " {",
		test: contender,
	},
	{
		name: "a lease under the watchdog ends by its own time", file: "session/contender/prolong.go",
		old: "\t\tw.Fixed, w.Until = false, 0\n", new: "\t\tw.Fixed = false\n",
		test: contender,
	},
	{
		name: "the watchdog goes back to a shorter lease", file: "session/contender/lease.go",
		old: "\t\th.ttl = max(h.ttl, ttl)\n", new: "",
		test: contender,
	},
	{
		name: "the answer to a caller's renewal counts as the watchdog's", file: "session/contender/prolong.go",
		old: "\tc.now = now\n\tttl := c.answeredFor(r, sentAt, err)\n", new: "\tc.now, c.renewing = now, false\n\tttl := c.answeredFor(r, sentAt, err)\n",
		test: contender,
	},
	{
		name: "a hold that is over is prolonged", file: "session/contender/prolong.go",
		old: "\tif w.phase != told {\n", new: "\tif false {\n",
		test: contender,
	},
	{
		name: "in the journal before it is told", file: "session/contender/admit.go",
		old: "\t\tw.settle = c.settles(w)\n", new: "\t\tw.settle = c.settles(w)\n\t\tc.journal(LetIn, w)\n",
		test: contender,
	},
	{
		name: "an end of what the journal does not have", file: "session/contender/callers.go",
		old: "\tif w.Holds() {\n\t\tc.out.Journal", new: "\tif true {\n\t\tc.out.Journal",
		test: contender,
	},
	{
		name: "a deadline of who was not told", file: "session/contender/lease.go",
		old: "\t\tif w.Holds() {\n\t\t\tc.journal(Deadline, w)\n\t\t}\n", new: "\t\tc.journal(Deadline, w)\n",
		test: contender,
	},
	{
		name: "no word in the journal why a hold was lost", file: "session/contender/callers.go",
		old: "c.StoreEnd(), Reason: reason}", new: "c.StoreEnd()}",
		test: contender,
	},
	{
		name: "one in a hurry waits", file: "session/contender/queue.go",
		old: "\tw.NoWait = true\n", new: "",
		test: contender,
	},
	{
		name: "one in a hurry is not counted", file: "session/contender/queue.go",
		old: "\tq.count(w, -1)\n\tw.NoWait = true\n\tq.count(w, 1)\n", new: "\tw.NoWait = true\n",
		test: contender,
	},
	{
		name: "one in a hurry is turned away although the name is free", file: "session/contender/callers.go",
		old: "\t\tif c.behind(w) && c.KnownLate(w) {\n\t\t\tc.refuse(w, Held)\n", new: "\t\tif true {\n\t\t\tc.refuse(w, Held)\n",
		test: contender,
	},
	{
		name: "one who does not want to wait is turned away from free permits", file: "session/contender/callers.go",
		old: "\tcase len(c.in) > 0 && (w.Mode == backend.Exclusive || c.in[0].Mode == backend.Exclusive):\n", new: "\tcase len(c.in) > 0:\n",
		test: contender,
	},
	{
		name: "of several who do not want to wait only the first asks", file: "session/contender/callers.go",
		old: "\t\treturn q.alone > 0 || !q.head().NoWait && c.copy.Entry(c.cfg.Node) != nil\n", new: "\t\treturn true\n",
		test: contender,
	},
	{
		name: "one who does not want to wait asks again for what others here wait for", file: "session/contender/callers.go",
		old: " || !q.head().NoWait && c.copy.Entry(c.cfg.Node) != nil\n", new: "\n",
		test: contender,
	},
	{
		name: "one who does not want to wait asks beside one who wants the name alone", file: "session/contender/callers.go",
		old: "return q.alone > 0 || ", new: "return w.Mode == backend.Exclusive || ",
		test: contender,
	},
	{
		name: "those who want the name alone are not counted", file: "session/contender/queue.go",
		old: "\t\tq.alone += d\n", new: "",
		test: contender,
	},
	{
		name: "one who does not want to wait for a permit waits", file: "session/contender/needs.go",
		old: "\tif q.unasked == 0 || c.hold.id != 0 && c.hold.mode == backend.Exclusive {", new: "\tif q.unasked == 0 || c.hold.id != 0 {",
		test: contender,
	},
	{
		name: "more wait than may", file: "session/contender/callers.go",
		old: "\tcase c.cfg.MostWaiting > 0 && c.queue.len() > c.cfg.MostWaiting:\n", new: "\tcase false:\n",
		test: contender,
	},
	{
		name: "who waits is told again and again", file: "session/contender/queued.go",
		old: "\t\tw.queued = true\n", new: "",
		test: contender,
	},
	{
		name: "who comes in by the next answer is told that it waits", file: "session/contender/queued.go",
		old: "\tif c.flight == nil {\n\t\treturn w.seen || c.behind(w)\n", new: "\tif true {\n\t\treturn w.seen || c.behind(w)\n",
		test: contender,
	},
	{
		name: "nobody is told that it waits until the store has answered", file: "session/contender/queued.go",
		old: "\treturn alone && c.behind(w)\n", new: "\treturn alone && c.flight == nil && c.behind(w)\n",
		test: contender,
	},
	{
		name: "entries that come during a write count as written", file: "session/contender/answer.go",
		old: "w.stale && w.sent == w.Entries {", new: "w.stale {",
		test: contender,
	},
	{
		name: "entries of a refused write are forgotten", file: "session/contender/answer.go",
		old: "\t\tc.describe = c.describe || c.hold.id != 0\n", new: "",
		test: contender,
	},
	{
		name: "what is retained counts as owed", file: "session/contender/show.go",
		old: " && !(c.hold.id != 0 && c.retains())", new: "",
		test: contender,
	},
	{
		name: "a release without an answer is not owed", file: "session/contender/show.go",
		old: "c.flight != nil || c.unresolved || c.recovers", new: "c.flight != nil || c.recovers",
		test: contender,
	},
	{
		name: "who waits for a release waits for ever", file: "session/engine/name.go",
		old: "\tif n.given != nil && !n.c.Owes() {\n\t\tclose(n.given)\n\t\tn.given = nil\n\t}\n", new: "",
		test: engine,
	},
	{
		name: "who waits for a release waits for a name that is gone", file: "session/engine/name.go",
		old: "\tn.gone = true\n\tif n.given != nil {\n\t\tclose(n.given)\n\t\tn.given = nil\n\t}\n", new: "\tn.gone = true\n",
		test: engine,
	},
	{
		name: "a lease is prolonged by less than was asked", file: "session/engine/prolong.go",
		old: "\t\tif whole || err != nil {\n", new: "\t\tif whole = true; whole {\n",
		test: engine,
	},
	{
		name: "a message that comes beside a request is no cause", file: "session/engine/engine.go",
		old: "\t\t\tn.nudged = n.c.Flight() != nil // what is asked after that answer is asked because of it\n", new: "",
		test: engine,
	},
	{
		name: "a grant by the store counts as one by this node", file: "session/engine/name.go",
		old: "n.c.Reply(n.e.cfg.Clock(), r, err), next, cause)", new: "n.c.Reply(n.e.cfg.Clock(), r, err), next, Local)",
		test: engine,
	},
	{
		name: "who could not leave the queue is forgotten", file: "session/contender/contender.go",
		old: " && !c.copy.Has(c.cfg.Node)\n", new: "\n",
		test: contender,
	},
}
