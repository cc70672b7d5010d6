//go:build planted

package planted

var bugs = []bug{
	{
		name: "who hangs up keeps an entry", file: "session/hold.go",
		old: "	ctx = context.WithoutCancel(ctx) // what it may wait for is bounded by Config.Timeout\n", new: "",
	},
	{
		name: "given to others before the deadline that was told", file: "session/restore.go",
		old: "max(s.m.cfg.Session.Reattach, told-s.m.cfg.Clock())", new: "s.m.cfg.Session.Reattach",
	},
	{
		name: "a waiting session counts as silent", file: "session/session.go",
		old: "if len(s.waiting) > 0 {", new: "if false {",
	},
	{
		name: "a repeat with the same id enters again", file: "session/replay.go",
		old: "if r := s.replays[of.key]; r != nil {", new: "if r := s.replays[of.key]; false {",
	},
	{
		name: "the time of day as the clock", file: "backend/boottime/alarm_linux.go",
		old: "unix.SYS_CLOCK_GETTIME, unix.CLOCK_BOOTTIME,", new: "unix.SYS_CLOCK_GETTIME, unix.CLOCK_REALTIME,",
	},
	{
		name: "the client library repeats requests", file: "backend/redis/conn/address.go", test: "./backend/redis/conn",
		old: "opt.MaxRetries = -1", new: "opt.MaxRetries = 3",
	},
	{
		name: "the breaker gates renewals", file: "backend/breaker/table.go", test: "./backend/breaker",
		old: "func (b *table) of(", new: "func (b *table) Renew(ctx context.Context, rs []ledger.Renewal) ([]error, error) {\n\tc := b.of(\"\")\n\tif _, err := c.cb.Allow(); err != nil {\n\t\treturn nil, c.refusal()\n\t}\n\treturn b.Table.Renew(ctx, rs)\n}\n\nfunc (b *table) of(",
	},
	{
		name: "a cycle through a semaphore", file: "session/cycle.go",
		old: "wanted := w.mode == backend.Exclusive", new: "wanted := w.mode >= backend.Exclusive",
	},
	{
		name: "a cycle of those who share", file: "session/cycle.go",
		old: "wanted := w.mode == backend.Exclusive", new: "wanted := w.mode <= backend.Exclusive",
	},
	{
		name: "a cycle behind one who waits for a shared name alone", file: "session/cycle.go",
		old: "			wanted = true\n", new: "",
	},
	{
		name: "a moment beyond the clock", file: "session/acquire.go",
		old: "	case a.MaxHold > longest:\n", new: "	case false:\n",
	},
	{
		name: "a minority of servers ends a hold", file: "backend/redlock/voting/proposal.go", test: "./backend/redlock", run: "^TestTableDeletedOnAMinority$",
		old: "x := read(given.rows, newest(given.rows), len(t.tables), t.clock())", new: "x := read(given.rows, newest(given.rows), t.quorum, t.clock())",
	},
	{
		name: "a late write takes from a server what a renewal has given", file: "backend/redlock/voting/acceptor.go", test: "./backend/redlock/voting", run: "^TestRenewalOvertakesWrite$",
		old: "s.Effects.Lengthens = slices", new: "s.Effects.Lengthens = false && slices",
	},
	{
		name: "a newcomer ends the quarantine of an empty server", file: "backend/redis/guard.go", test: "./backend/redis", run: "^TestTableQuarantineKeepsNewcomersOut$",
		old: "	case marked == \"\":\n		err = c.SetNX", new: "	case marked == \"\":\n	case false:\n		err = c.SetNX",
	},
	{
		name: "a server that was left is trusted again at once", file: "backend/redis/guard.go", test: "./backend/redis", run: "^TestTableQuarantineAfterAnotherServer$",
		old: "	case g.wasLeft(id, marked):", new: "	case false && g.wasLeft(id, marked):",
	},
	{
		name: "what was seen of a server counts for ever", file: "backend/redis/table_trust.go", test: "./backend/redis", run: "^TestTableQuarantineAfterUnseenFailback$",
		old: "return v.id == noServer || boottime", new: "return true || boottime",
	},
	{
		name: "a doubt that comes while a server is asked is not heeded", file: "backend/redis/table_trust.go", test: "./backend/redis", run: "^TestDoubtWhileAsked$",
		old: "	if r.known[c] == k {\n", new: "	if r.known[c] = k; true {\n",
	},
	{
		name: "a store that hangs has answered who it is", file: "backend/redis/table_trust.go", test: "./backend/redis", run: "^TestBreakerOpensWhileNobodySaysWhoItIs$",
		old: "\"%w: Redis does not say who it is: %s\", backend.ErrUnreachable", new: "\"%w: Redis does not say who it is: %s\", backend.ErrRefused",
	},
	{
		name: "an older answer ends that a release is heard", file: "backend/redis/table_listen.go", test: "./backend/redis", run: "^TestFollowByTheNewestAnswer$",
		old: "if r.Clock != 0 && r.Clock < was.clock {", new: "if false {",
	},
	{
		name: "a server that has followed another one is trusted", file: "backend/redis/guard_id.go", test: "./backend/redis", run: "^TestTableQuarantineAfterUnseenFailback$",
		old: " ||\n\t\tstrings.Trim(said[\"master_replid2\"], \"0\") != \"\" {", new: " {\n\t\t_ = strings.Trim\n",
	},
	{
		name: "each who comes to wait asks the store", file: "session/contender/needs.go", test: "./backend/redis", run: "^TestWaitersCostNothingOverARestart$",
		old: "	case c.unseen():\n", new: "	case c.queue.unasked > 0 || c.unseen():\n",
	},
	{
		name: "a Redis that compares nothing grants", file: "backend/redis/table_grant.go", test: "./backend/redis", run: "^TestSelfTest$",
		old: "		if err := t.tried(ctx, c, raw); err != nil {\n\t\t\treturn nil, err\n\t\t}\n\t\tvar val", new: "\t\tvar val",
	},
	{
		name: "a Redis that may be another one is not tried again", file: "backend/redis/table_trial.go", test: "./backend/redis", run: "^TestSelfTestIsRunOnce$",
		old: "\tfor _, x := range s.of.Range {\n\t\tx.(*trial).doubt()\n\t}\n", new: "",
	},
	{
		name: "a master with its first replica is put in quarantine", file: "backend/redis/guard_id.go", test: "./backend/redis", run: "^TestTableNoQuarantineForANewReplica$",
		old: "	if !trusted {\n", new: "	if trusted || true {\n",
	},
	{
		name: "a forgotten permit that another has is restored", file: "backend/ledger/step.go", test: "./backend/redis", run: "^TestTableForgottenPermitTooLate$",
		old: " || s.free(op.Mode) < n {", new: " {\n\t\t_ = n",
	},
	{
		name: "a restored hold stays for ever", file: "backend/redis/swap.lua", test: "./backend/redis", run: "^TestTableForgottenShareExpires$",
		old: "    call('PEXPIREAT', lock, till)\n", new: "",
	},
	{
		name: "a restored fixed lease has no margin", file: "session/contender/needs.go", test: "./backend/redis", run: "^TestForgottenFixedLeaseKeepsItsMargin$",
		old: "w.Until-c.now+c.cfg.Margin(w.TTL)", new: "w.Until-c.now",
	},
	{
		name: "a hold whose lock was deleted is restored", file: "session/contender/answer.go", test: model, args: []string{"-test.run=Instances", "-states=200000", "-instance=x,x delete"},
		old: "return c.cfg.Restores && !slices.Contains(c.deleted, id)", new: "return c.cfg.Restores",
	},
	{
		name: "a server that was restarted is trusted under load", file: "backend/redis/guard.go", test: "./backend/redis", run: "^TestQuarantineUnderLoad$",
		old: "	case marked == \"\" && unused:\n", new: "	case marked == \"\" || true:\n",
	},
	{
		name: "one master of a cluster that comes back empty counts as new", file: "backend/redis/guard.go", test: "./backend/redis", run: "^TestTableOfNewCluster$",
		old: "	case marked == \"\" && unused:\n", new: "	case marked == \"\":\n",
	},
	{
		name: "the masters of a new cluster are put in quarantine", file: "backend/redis/guard.go", test: "./backend/redis", run: "^TestTableOfNewCluster$",
		old: "	case marked == \"\" && unused:\n", new: "	case false && unused:\n",
	},
	{
		name: "an empty server counts as a new one", file: "backend/redis/guard.go", test: "./backend/redis", run: "^TestTableQuarantine$",
		old: "	case marked == \"\" && unused:\n", new: "	case marked == \"\":\n",
	},
	{
		name: "a server that was restarted is trusted", file: "backend/redis/guard.go", test: "./backend/redis", run: "^TestTableQuarantineWhateverIsOnDisk$",
		old: "	case !inDoubt(key, marked) && g.unbroken(ctx, c, id, marked):\n", new: "	case marked != \"\":\n",
	},
	{
		name: "an empty database counts as a new one", file: "backend/sqltable/runs.go", test: "./backend/sqltable",
		old: "	case !s.Used && !past:\n", new: "	case !s.Used:\n",
	},
	{
		name: "a database that was put back is trusted", file: "backend/sqltable/runs.go", test: "./backend/sqltable",
		old: "	case s.Same && known && s.Far >= least:\n", new: "	case s.Same && known:\n",
	},
	{
		name: "a database that another gateway took for new is trusted", file: "backend/sqltable/runs.go", test: "./backend/sqltable",
		old: "	case s.Same && s.Fresh && past && s.Left <= 0:\n", new: "	case false:\n",
	},
	{
		name: "a database that was restarted is trusted", file: "backend/sqltable/runs.go", test: "./backend/sqltable",
		old: "	case s.Same: // another gateway has decided\n", new: "	case s.ID != \"\": // another gateway has decided\n",
	},
	{
		name: "a MySQL that started twice in a second is trusted", file: "backend/mysql/trust.go", test: "./backend/mysql", run: "^TestQuarantineInTheSameSecond$",
		old: "	if again && n <= before.n {\n", new: "	if again && false {\n",
	},
	{
		name: "a MySQL that begins the next transaction by COMMIT keeps writes to itself", file: "backend/mysql/conn.go", test: "./backend/mysql", run: "^TestPresets$",
		old: "completion_type = 0, ", new: "",
	},
	{
		name: "a reply of Redis announces as many elements as it likes", file: "backend/resplimit/resplimit.go", test: "./backend/resplimit",
		old: "	case is(kind, arrays) && n > maxElements-l.elements:\n", new: "	case false:\n",
	},
	{
		name: "a reply of Redis is as deep as it likes", file: "backend/resplimit/resplimit.go", test: "./backend/resplimit",
		old: "	case is(kind, arrays) && n > 0 && len(l.left) == maxDepth:\n", new: "	case false:\n",
	},
	{
		name: "replies of Redis are not limited", file: "backend/redis/conn/dial.go", test: "./backend/redis", run: "^TestHugeReplyIsRefused$",
		old: "		return socket(resplimit.Conn(&greeting{Conn: c}), c), nil\n", new: "		_ = resplimit.Conn\n		return socket(&greeting{Conn: c}, c), nil\n",
	},
	{
		name: "two sessions with the same ID", file: "session/manager.go",
		old: "	idLength      = 18\n", new: "	idLength      = 8\n",
	},
	{
		name: "a file that was cut is believed", file: "session/journal/tail.go", test: "./session/journal",
		old: "now.Size < max(t.size, int64(len(t.mem))) || now.Nlink == 0", new: "now.Nlink == 0",
	},
	{
		name: "a file that was removed is written", file: "session/journal/tail.go", test: "./session/journal",
		old: " || now.Nlink == 0 {", new: " {",
	},
	{
		name: "a true file is emptied", file: "session/journal/journal.go", test: "./session/journal",
		old: "		j.next = time.Now().Add(retry) // the file is long, but true\n", new: "		j.fail(errNoPage)\n",
	},
	{
		name: "losses without end", file: "session/journal/apply.go", test: "./session/journal",
		old: "			delete(c.Losses, old)\n", new: "			_ = old\n",
	},
	{
		name: "silence counts while connections are refused", file: "session/session.go",
		old: "since = max(since, s.m.cfg.Refused(s.o))", new: "_ = s.m.cfg.Refused(s.o)",
	},
	{
		name: "one user may have all descriptors", file: "session/peer/descriptors.go", test: "./session/peer",
		old: "case own >= min(s.common-d.used, maxShare):", new: "case false:",
	},
	{
		name: "no descriptors for administrators", file: "session/peer/descriptors.go", test: "./session/peer",
		old: "	case owner.admin:\n\t\treturn nil\n", new: "",
	},
	{
		name: "strangers have no budget", file: "session/peer/descriptors.go", test: "./session/peer",
		old: "case d.strange >= s.unknown, d.unknown[owner.address] >= s.unknown-d.strange:", new: "case false:",
	},
	{
		name: "who fills the room for probes keeps others out", file: "session/peer/descriptors.go", test: "./session/peer",
		old: "c > n {", new: "n == 0 {\n\t\t\t_ = c",
	},
	{
		name: "a closed socket is root's", file: "session/peer/sockdiag_linux.go", test: "./session/peer",
		old: "if m.inode == 0 {", new: "if false {",
	},
	{
		name: "users of other namespaces are the user nobody", file: "session/peer/userns.go", test: "./session/peer",
		old: "	if users().is(uid) {", new: "	if false {",
	},
}
