//go:build planted

package planted

// holdBugs are in how a session core and its engine carry out what a contender decides.
var holdBugs = []bug{
	{
		name: "a hold that may be kept by nobody does not say so", file: "backend/ledger/step.go", run: "Retained",
		old: "		h.Retains, h.Callers", new: "		_, h.Callers",
	},
	{
		name: "who does not want to wait is queued though the name is used", file: "session/contender/recall.go", run: "Retained",
		old: "		idle := told && n == 0\n", new: "		idle := told && n >= 0\n",
	},
	{
		name: "one of several holders who does not use a lock is enough", file: "session/contender/recall.go", run: "Retained",
		old: "one && (all ||", new: "one && (all || true ||",
	},
	{
		name: "a view without a look at the deadline", file: "session/lease.go",
		old: "if expired = l.overdue(c, now); expired == nil {", new: "if true {",
	},
	{
		name: "a hold is told to outlast its max_hold", file: "session/contender/callers.go",
		old: "		return min(w.MaxHoldAt, c.LeaseEnd(w))\n", new: "		return c.LeaseEnd(w)\n",
	},
	{
		name: "a hold is told to outlast the keepalive of its session", file: "session/lease.go",
		old: "			v.Deadline = min(deadline, silentAt)\n", new: "			_ = silentAt\n",
	},
	{
		name: "min_hold counts from when the name was asked for", file: "session/contender/callers.go",
		old: "			w.MinHoldAt = now + w.MinHold\n", new: "			w.MinHoldAt = c.hold.stamped + w.MinHold\n", test: contender,
	},
	{
		name: "told without asking the contender", file: "session/wait.go",
		old: "case granted && l.n.Accept(&l.c):", new: "case granted && (l.n.Accept(&l.c) || true):",
	},
	{
		name: "a hold that was told is not journaled", file: "session/owner.go",
		old: "	l.m.cfg.Journal.Told(l.key(), l.turn(e.Hold, e.Deadline), l.answered())\n", new: "",
	},
	{
		name: "a new deadline is not journaled", file: "session/owner.go",
		old: "			j.Deadline(leaseOf(e.Caller).key(), e.Deadline)\n", new: "",
	},
	{
		name: "a changed lease is not journaled", file: "session/owner.go",
		old: "			j.Told(l.key(), l.turn(e.Hold, e.Deadline), nil)\n", new: "			_, _ = j, l\n",
	},
	{
		name: "a release is not journaled", file: "session/owner.go",
		old: "		j.Released(l.key(), l.s.id, end.answer.givenBack(l, e.Deadline))\n", new: "		_ = j\n",
	},
	{
		name: "a kept hold is not journaled as kept", file: "session/owner.go",
		old: "		j.Kept(l.key(), l.s.id, string(l.c.Owner), end.answer.released(l, 0))\n", new: "		_ = j\n",
	},
	{
		name: "a loss is not journaled", file: "session/owner.go",
		old: "	l.m.cfg.Journal.Lost(l.key(), l.s.id, l.loss(reason))\n", new: "",
	},
	{
		name: "holds of one name share a place in the journal", file: "session/record.go",
		old: "if l.c.Mode == backend.Exclusive {\n		return journal.Key{Name: l.name}\n	}\n	", new: "if true {\n		return journal.Key{Name: l.name}\n	}\n	",
	},
	{
		name: "a reason of a forced end is not told", file: "session/owner.go",
		old: "	if l.ending != nil && l.ending.forced {\n		reason = l.ending.reason\n	}\n", new: "",
	},
	{
		name: "who is kept waiting for the store is not given its time", file: "session/wait.go",
		old: "	if !hurried && (!known ||", new: "	if false && (!known ||",
	},
	{
		name: "who has waited behind others is told that nothing is known", file: "session/refusal.go",
		old: "		return c.KnownLate(&l.c)\n", new: "		return c.Known(&l.c)\n",
	},
	{
		name: "a wait that is over leaves a caller in the queue", file: "session/wait.go",
		old: "	l.leave()\n	return true, err\n", new: "	return true, err\n",
	},
	{
		name: "a panic leaves a caller in the queue", file: "session/acquire.go",
		old: "		if errors.Is(err, errPanic) { //", new: "		if false { //",
	},
	{
		name: "an unconfirmed entry counts", file: "session/entries.go",
		old: "if !confirmed && d > 0 {", new: "if _ = confirmed; false {",
	},
	{
		name: "an unconfirmed entry stays in the store", file: "session/entries.go",
		old: "		l.n.SetEntries(&l.c, was).Launch()\n", new: "",
	},
	{
		name: "a release is told before the store has confirmed it", file: "session/hold.go",
		old: "	given := l.n.Given()\n	if given == nil {", new: "	given := l.n.Given()\n	if true {",
	},
	{
		name: "a fixed lease is taken up as one of the watchdog's", file: "session/restore.go",
		old: "		l.c.Until = t.Deadline\n", new: "",
	},
	{
		name: "messages are heard before the past is taken up", file: "session/manager.go",
		old: "Recovers: true, ", new: "",
	},
	{
		name: "an embedded store is asked as one that keeps what it grants", file: "session/manager.go",
		old: "Restores: info.Restores || !info.Shared,", new: "Restores: info.Restores,",
	},
	{
		name: "a check believes the store where the holder says nothing", file: "session/inspect.go",
		old: "	if !said {\n", new: "	if !said && false {\n",
	},
	{
		name: "an earlier fence passes a check after a forced release", file: "backend/ledger/break.go",
		old: "	s.untold(&h)\n", new: "", test: ledger,
	},
	{
		name: "an earlier fence passes a check after a lease ran out", file: "backend/ledger/step.go",
		old: "		s.untold(&h)\n", new: "", test: ledger,
	},
	{
		name: "an earlier fence passes a check while a lease that ran out is written", file: "session/inspect.go",
		old: "h.Foreign() || over {", new: "h.Foreign() {",
	},
	{
		name: "an earlier fence passes a check after a lock was deleted", file: "session/inspect.go",
		old: "len(a.Reply.Deleted) > 0 {", new: "len(a.Reply.Deleted) > 1 {",
		test: redis, run: "^TestCheckAfterTheLockIsDeleted$",
	},
	{
		name: "the fence that was told last is forgotten over a restart", file: "session/restore.go",
		old: "		p.Given = max(p.Given, backend.Fence(rec.Fence))\n", new: "",
	},
	{
		name: "a check of a name that is not held takes what was reserved for given", file: "session/inspect.go",
		old: "	newest, said = a.Reply.Record.Last, true\n", new: "	newest, said = a.Reply.Record.Top, true\n",
	},
	{
		name: "next where the order is strict is told as by turns", file: "session/inspect.go",
		old: "	if m.cfg.Fairness.Strict {\n", new: "	if false {\n",
	},
	{
		name: "a release does not look at the fence that was seen", file: "session/hold.go",
		old: "	if seen != nil && *seen != l.Fence() {\n", new: "	if false {\n", test: "./api", run: "TestReleaseOfTheSeenFence",
	},
	{
		name: "break of another owner than was seen", file: "session/break.go",
		old: "	case l != nil && owner != \"\" && l.c.Owner != owner:\n		return mismatch(name, otherOwner)\n", new: "",
	},
	{
		name: "the end of a session leaves its waits", file: "session/end.go",
		old: "	s.pokeAllLocked()\n", new: "",
	},
	{
		name: "the end of the gateway leaves its waits", file: "session/manager.go",
		old: "		s.pokeAll()\n", new: "		_ = s\n",
	},
	{
		name: "a caller who hangs up stays parked", file: "session/waiter.go",
		old: "func (w *Waiter) Look() { w.poke() }", new: "func (w *Waiter) Look() {}",
	},
	{
		name: "a grant that comes before its caller is parked is missed", file: "session/waiter.go",
		old: "return w.l.news() || w.gone() != nil", new: "return w.gone() != nil",
	},
	{
		name: "the end of a session that comes before its caller is parked is missed", file: "session/waiter.go",
		old: "return w.l.news() || w.gone() != nil", new: "return w.l.news()",
	},
	{
		name: "who waits is told of the process that was shown before", file: "session/show.go",
		old: "	l.shown = nil\n", new: "",
	},
	{
		name: "who gives up stays in the queue", file: "session/waiter.go",
		old: "		w.l.leave()\n		return true, err\n", new: "		return true, err\n",
	},
	{
		name: "a panic of one who waits leaves a caller in the queue", file: "session/waiter.go",
		old: "	w.l.leave()\n	_ = w.s.finish(", new: "	_ = w.s.finish(",
	},
	{
		name: "a panic of one who waits leaves the owner waiting", file: "session/waiter.go",
		old: "	_ = w.s.finish(w.l, errPanic)\n", new: "",
	},
	{
		name: "a panic at the end of a wait leaves the hold", file: "session/waiter.go",
		old: "	if w.ended {\n", new: "	if w.ended = w.ended; false {\n",
	},
	{
		name: "the end of a session leaves its holds", file: "session/end.go",
		old: "	released, pending = endAll(", new: "	leases = nil\n	released, pending = endAll(",
	},
	{
		name: "the client of a session that was ended by force is not told", file: "session/end.go",
		old: "		if then == revoke {\n			end, reason = l.revoke, reasonEnded\n		}\n", new: "		_ = then\n",
	},
	{
		name: "granted after the end of the session", file: "session/acquire.go",
		old: "	closed := s.closed || s.spent\n", new: "	closed := false\n",
	},
	{
		name: "a lost hold is not remembered", file: "session/end.go",
		old: "		s.keepLost(k, l.lostErr())\n", new: "		_ = l.lostErr\n",
	},
	{
		name: "a re-entry counts before the store knows", file: "session/entries.go",
		old: "	confirmed := l.writeEntries(ctx, n)\n", new: "	confirmed := true\n	go l.writeEntries(ctx, n)\n",
	},
	{
		name: "an exclusive entry into a shared hold", file: "session/lease.go",
		old: "if m == l.c.Mode || m == backend.Shared && l.c.Mode == backend.Exclusive {", new: "if m == l.c.Mode || m == backend.Shared || l.c.Mode == backend.Shared {",
	},
	{
		name: "a restart forgets the mode", file: "session/restore.go",
		old: "l.c.Mode, l.c.TTL, l.c.Fixed, l.c.Kept = backend.Mode(t.Mode), t.TTL,", new: "l.c.Mode, l.c.TTL, l.c.Fixed, l.c.Kept = backend.Exclusive, t.TTL,",
	},
	{
		name: "no record of the entries", file: "session/entries.go",
		old: "		l.m.cfg.Journal.Entries(l.key(), l.s.id, n, answer.granted(l))\n", new: "		_ = answer\n",
	},
	{
		name: "entries are written down for the next hold", file: "session/entries.go",
		old: "	over := l.see(func(c *contender.Contender, _ time.Duration) { //",
		new: "	var c *contender.Contender\n	over, write := l.see(func(k *contender.Contender, _ time.Duration) { c = k }), func(f func()) { f() }\n	write(func() { //",
	},
	{
		name: "a kept name counts in a cycle of waits", file: "session/cycle.go",
		old: "if !x.Holds() || x.Kept {", new: "if !x.Holds() {",
	},
	{
		name: "a kept name cannot be broken", file: "session/break.go",
		old: "		if kept && l.c.Kept && l.c.Holds() {", new: "		if false {",
	},
	{
		name: "a restart forgets who had a kept name", file: "session/restore.go",
		old: "		l.holder = Holder{Owner: l.c.Owner, Node: m.cfg.Node, Peer: NoPeer(), Note: t.Note, Since: t.Since}\n", new: "",
	},
	{
		name: "a release gives back an entry that has come since", file: "session/end.go",
		old: "no == nil && more && l.c.Entries > 1", new: "no == nil && more && l.c.Entries < 1",
	},
}
