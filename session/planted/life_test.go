//go:build planted

package planted

// lifeBugs are in how sessions end, and in what a request leaves behind.
var lifeBugs = []bug{
	{
		name: "a panic under a key leaves it unanswered", file: "session/replay.go",
		old: "	defer func() { s.remember(of, r, panics) }()\n	r.v, r.err = f(of)\n	panics = false\n", new: "	r.v, r.err = f(of)\n	panics = false\n	s.remember(of, r, panics)\n",
	},
	{
		name: "what panicked under a key is done again", file: "session/replay.go",
		old: "Code: CodeInternal, Detail: \"the gateway failed", new: "Code: CodeUnavailable, Detail: \"the gateway failed",
	},
	{
		name: "a panic leaves the owner waiting", file: "session/acquire.go",
		old: "		if !waits {\n			err = s.finish(l, err)\n		}\n	}()\n	waits, err = s.stand(ctx, l, a, r)\n",
		new: "	}()\n	if waits, err = s.stand(ctx, l, a, r); !waits {\n		err = s.finish(l, err)\n	}\n",
	},
	{
		name: "a hold that is left to the next process counts as given back", file: "session/end.go",
		old: "if l.leftBehind() {", new: "if false {",
	},
	{
		name: "a hold that is left to the next process is not held", file: "session/lease.go",
		old: "case !there && !over:", new: "case false && !there && !over:",
	},
	{
		name: "silence is not looked at again", file: "session/session.go",
		old: "s.closeIf(s.silentLocked, ", new: "s.closeIf(nil, ",
	},
	{
		name: "a sign of life without the lock of the end", file: "session/manager.go",
		old: "if err := s.touch(); err != nil {", new: "if s.Touch(); false {\n			var err error",
	},
	{
		name: "decided, unlocked, closed", file: "session/session.go",
		old: "	s.closeIf(func() bool {\n		s.conns--\n		return s.conns == 0 && s.o.EndsWithConns()\n	}, reason)\n",
		new: "	s.mu.Lock()\n	s.conns--\n	last := s.conns == 0 && s.o.EndsWithConns()\n	s.mu.Unlock()\n	if last {\n		s.closeSoon(reason)\n	}\n",
	},
	{
		name: "who came back is not seen", file: "session/restore.go",
		old: "s.closeIf(func() bool { return s.conns == 0 }, ", new: "if s.mu.Lock(); s.conns > 0 {\n		s.mu.Unlock()\n		return\n	}\n	s.mu.Unlock()\n	s.closeIf(nil, ",
	},
	{
		name: "granted to a session of one lock at its end", file: "session/end.go",
		old: "		s.spent = true // an acquire", new: "		// an acquire",
	},
	{
		name: "a session of one lock ends while it holds", file: "session/end.go",
		old: "		return len(s.holds)+len(s.waiting) == 0\n", new: "		return true\n",
	},
	{
		name: "a session of one lock that waited never ends", file: "session/end.go",
		old: "		if len(s.waiting) > 0 {\n", new: "		if false {\n",
	},
	{
		name: "the mark of fences goes with a new file", file: "session/journal/apply.go",
		old: "if s.Fence > 0 && !yield(", new: "if false && !yield(",
	},
	{
		name: "no mark of fences", file: "session/journal/apply.go",
		old: "		p.Turn, p.Fence = t, t.Fence\n		s.raise(t.Fence)\n", new: "		p.Turn, p.Fence = t, t.Fence\n",
	},
	{
		name: "a timer that stands still while the machine sleeps", file: "session/clock.go",
		old: "	if c.kernels {\n", new: "	if false {\n",
	},
	{
		name: "a timer that does not look at the clock", file: "backend/boottime/boottime.go",
		old: "min(at-t.now(), glance)", new: "at-t.now()",
	},
	{
		name: "no share of sessions", file: "session/users.go",
		old: "if m.users[o.User] >= m.cfg.Limits.SessionsPerUser {", new: "if false {",
	},
	{
		name: "no limit of holds of a user", file: "session/acquire.go",
		old: "s.m.holding.by(s.o.User) >= lim.HoldsPerUser", new: "false",
	},
	{
		name: "an administrator has a limit of holds", file: "session/acquire.go",
		old: "case !s.o.Administers && s", new: "case s",
	},
	{
		name: "holds that are over count", file: "session/owner.go",
		old: "	if e.Kind == contender.End {\n		l.countNoMore()", new: "	if e.Kind == contender.End && e.Reason == 0 {\n		l.countNoMore()",
	},
	{
		name: "what min_hold keeps counts no more", file: "session/owner.go",
		old: "	if e.Kind == contender.End {\n		l.countNoMore()", new: "	{\n		l.countNoMore()",
	},
	{
		name: "the holds of a user are forgotten by a restart", file: "session/restore.go",
		old: "	l.count()\n", new: "",
	},
	{
		name: "a user fills the log with losses", file: "session/loss.go",
		old: "return unlogged, n < mostLogged", new: "return unlogged, true",
	},
	{
		name: "nobody is told how many losses are not in the log", file: "session/loss.go",
		old: "unlogged, n = -n, 0", new: "n = 0",
	},
	{
		name: "no sessions for administrators", file: "session/users.go",
		old: "		most -= most / 100\n", new: "",
	},
	{
		name: "the share is forgotten by a restart", file: "session/restore.go",
		old: "	m.addLocked(s)\n", new: "	m.addLocked(s)\n	m.users[s.o.User]--\n",
	},
	{
		name: "idle sessions make no room", file: "session/manager.go",
		old: "&& m.clear(o.User) {", new: "&& false {",
	},
	{
		name: "sessions with a connection make room", file: "session/users.go",
		old: "s.gathering+s.conns == 0", new: "s.gathering == 0",
	},
	{
		name: "sessions that talk make room", file: "session/users.go",
		old: "s.m.cfg.Clock()-s.seen > idleGrace", new: "true",
	},
	{
		name: "sessions of others make room", file: "session/users.go",
		old: "if (all || s.o.User == user) && s", new: "if _ = all; s",
	},
	{
		name: "refusals are remembered", file: "session/replay.go",
		old: "(r.err == nil || of.changed || unknown)", new: "true",
	},
	{
		name: "a partial release is forgotten", file: "session/multi_release.go",
		old: "				r.changed = true\n", new: "",
	},
	{
		name: "answers of a user without end", file: "session/answers/answers.go",
		old: "	if l == nil || names == 0 {", new: "	if true {",
	},
	{
		name: "answers in all without end", file: "session/answers/answers.go",
		old: "b.n >= l.All && share", new: "false && share",
	},
	{
		name: "answers for several names count as one", file: "session/multi_repeat.go",
		old: "			r.names++\n", new: "			r.names = 1\n",
	},
	{
		name: "answers are not swept", file: "session/answers/answers.go",
		old: "		b.sweeper = time.AfterFunc(sweepEvery, b.sweep)\n	}\n	b.mu.Unlock()\n	b.forget(old)\n}\n\nfunc (b *Book) removeLocked", new: "	}\n	b.mu.Unlock()\n	b.forget(old)\n}\n\nfunc (b *Book) removeLocked",
	},
	{
		name: "answers outlive their session", file: "session/end.go",
		old: "		s.m.answers.Drop(&r.Answer)\n", new: "		_ = r\n",
	},
	{
		name: "a journal without a cap", file: "session/journal/journal.go", test: "./session/journal",
		old: "for int64(len(b))-rest > room {", new: "for int64(len(b))-rest > 1000*room {",
	},
	{
		name: "no answers beside what many sessions hold", file: "session/journal/journal.go", test: "./session/journal",
		old: "max(j.most/2-rest, j.most/8)", new: "max(j.most/2-rest, 0)",
	},
	{
		name: "answers in the journal without end", file: "session/journal/answers.go", test: "./session/journal",
		old: "		s.forgetAnswers(MostAnswers)\n", new: "",
	},
	{
		name: "answers are kept when there is no room", file: "session/journal/journal.go", test: "./session/journal",
		old: "if j.state.forgetAnswers(0); j.rewrite() == nil {", new: "if false {",
	},
	{
		name: "the newest answers are forgotten at the start", file: "session/restore.go", run: "TestRestartKeepsTheNewestAnswers",
		old: "cmp.Compare(a.Up, b.Up)", new: "cmp.Compare(b.Up, a.Up)",
	},
	{
		name: "answers drive out those of others", file: "session/journal/answers.go", test: "./session/journal",
		old: "; each > 0 {", new: "; each < 0 {",
	},
	{
		name: "no start on a full disk", file: "session/journal/journal.go", test: "./session/journal",
		old: "err != nil && !j.startFull(err) {", new: "err != nil {",
	},
	{
		name: "old answers are read", file: "session/journal/answers.go", test: "./session/journal",
		old: "		old[who] -= MostAnswers\n", new: "		old[who] = 0\n",
	},
	{
		name: "a lost journal is taken for a new node", file: "session/journal/journal.go",
		old: "Rejected: j.state.Rejected, Until: j.reach.until}", new: "Rejected: j.state.Rejected}",
	},
	{
		name: "one process alone knows of a lost journal", file: "session/journal/apply.go",
		old: "&Node{s.Node, s.Secret, s.Boot, s.Until}", new: "&Node{s.Node, s.Secret, s.Boot, 0}",
	},
	{
		name: "deadlines are not kept beside the journal", file: "session/journal/journal.go", test: "./session/journal",
		old: "	j.reach.told(r)\n", new: "",
	},
}
