//go:build planted

package planted

var bugs = []bug{
	{
		name: "deadline from the answer instead of the sending", file: "session/request.go",
		old: "deadline: q.sentAt + q.r.TTL - margin(q.r.TTL), fresh: true,",
		new: "deadline: p.m.cfg.Clock() + q.r.TTL - margin(q.r.TTL), fresh: true,",
	},
	{
		name: "renewed deadline from the answer", file: "session/turns.go",
		old: "p.hold.deadline = max(p.hold.deadline, sentAt+r.TTL-margin(r.TTL))",
		new: "p.hold.deadline = max(p.hold.deadline, now+r.TTL-margin(r.TTL))",
	},
	{
		name: "told without a look at the deadline", file: "session/place.go",
		old: "case p.m.cfg.Clock() >= p.hold.deadline:\n\t\tp.advance() // loses",
		new: "case false:\n\t\tp.advance() // loses",
	},
	{
		name: "view without a look at the deadline", file: "session/lease.go",
		old: "case now >= l.p.hold.deadline:", new: "case false:",
	},
	{
		name: "no loss at the deadline", file: "session/machine.go",
		old: "if now >= p.hold.deadline {", new: "if false {",
	},
	{
		name: "a late renewal revives", file: "session/turns.go",
		old: "case p.late(): // lost, whatever the store says", new: "case false:",
	},
	{
		name: "grant message trusted without confirm", file: "session/machine.go",
		old: "	case p.hint != 0:\n\t\tp.askFor(confirm, 0)\n",
		new: "	case p.hint != 0:\n\t\tp.phase = holding\n\t\tp.hold = hold{fence: p.hint, block: p.hint, next: p.hint, left: 1, ttl: p.queue.first.ttl, deadline: now + p.queue.first.ttl, renewAt: now + time.Second}\n\t\tp.hint = 0\n\t\treturn true\n",
	},
	{
		name: "grant message ignored while an answer is under way", file: "session/hints.go",
		old: "if p.phase != holding || p.req", new: "if p.phase != holding && p.req == nil || p.req",
	},
	{
		name: "grant message ignored while a yield is under way", file: "session/hints.go",
		old: " || p.req != nil && p.req.verb == extend {", new: " {",
	},
	{
		name: "no timer for a holder that dies", file: "session/machine.go",
		old: "	case now >= p.again:\n\t\tp.askFor(acquire, p.attempt)\n", new: "",
	},
	{
		name: "unwanted grant is not given back", file: "session/machine.go",
		old: "	case q == nil && p.hint != 0:\n\t\tp.undo() // granted to nobody here\n", new: "",
	},
	{
		name: "who gives up while granted keeps the turn", file: "session/place.go",
		old: "	if p.cur == l {\n\t\tp.cur = nil\n\t}\n\tl.phase = over\n\tp.advance()", new: "	l.phase = over\n\tp.advance()",
	},
	{
		name: "nobody leaves the store's queue", file: "session/machine.go",
		old: "	case p.queue.n == 0:\n\t\tp.undo()\n", new: "	case p.queue.n == 0:\n\t\tp.phase = idle\n\t\treturn true\n",
	},
	{
		name: "unknown acquire is not undone", file: "session/machine.go",
		old: "		p.attempt = q.r.Seq\n\t\tp.undo()\n\tcase q != nil && !q.flying && p.queue.n == 0:",
		new: "		p.req = nil\n\t\treturn true\n\tcase q != nil && !q.flying && p.queue.n == 0:",
	},
	{
		name: "turn given while the release is under way", file: "session/machine.go",
		old: "	q := p.req\n\tif q == nil || q.flying || q.giveUp == 0 || now < q.giveUp {",
		new: "	q := p.req\n\tif p.cur == nil && p.queue.n > 0 && q != nil && q.verb == release && now < p.hold.deadline && p.hold.left > 0 {\n\t\tp.give(now)\n\t}\n\tif q == nil || q.flying || q.giveUp == 0 || now < q.giveUp {",
	},
	{
		name: "a hold lost here is not released", file: "session/turns.go",
		old: "	p.letGo(p.m.cfg.Delay)\n}\n\n// drop", new: "	p.phase = idle\n}\n\n// drop",
	},
	{
		name: "an extend that has let go is superseded by a release", file: "session/turns.go",
		old: "if q := p.req; q != nil && q.verb == extend && q.r.Queue && p.queue.n == 0 {", new: "if false {\n\t\tq := p.req",
	},
	{
		name: "no yield at the end of a block", file: "backend/memory/memory.go",
		old: "case l.othersWait(me) && r.Queue:", new: "case false:",
	},
	{
		name: "no yield after the turn time", file: "session/machine.go",
		old: "case p.hold.others != 0 && now-p.hold.others >= p.m.cfg.Fairness.MaxTurnTime,", new: "case",
	},
	{
		name: "fences of a turn not counted up", file: "session/turns.go",
		old: "	p.hold.next++\n", new: "",
	},
	{
		name: "watchdog renews a fixed lease", file: "session/turns.go",
		old: "(p.cur == nil || !p.cur.fixed || p.cur.phase == kept)", new: "true",
	},
	{
		name: "watchdog does not renew", file: "session/turns.go",
		old: "if p.renews() && now >= p.hold.renewAt {", new: "if false {",
	},
	{
		name: "watchdog gives up after one failure", file: "session/turns.go",
		old: "	p.hold.renewing = false\n", new: "	p.hold.renewing = err != nil\n",
	},
	{
		name: "no turn without time left", file: "session/machine.go",
		old: "case p.hold.deadline-now <= p.hold.ttl/3 && !p.hold.fresh: // too little to give away", new: "case false:",
	},
	{
		name: "a shorter lease under a longer hold", file: "session/machine.go",
		old: ",\n\t\tp.queue.first.ttl < p.hold.ttl: // a lease", new: ": // a lease",
	},
	{
		name: "a longer lease under a shorter hold", file: "session/turns.go",
		old: "if l.ttl > p.hold.ttl || l.fixed && !fresh || exact {", new: "if _ = fresh; exact {",
	},
	{
		name: "the end of a session leaves its waits", file: "session/acquire.go",
		old: "		case <-s.ctx.Done():\n\t\t\tl.p.leave(l)\n\t\t\treturn nil, s.Err()\n", new: "",
	},
	{
		name: "the end of a session leaves its holds", file: "session/session.go",
		old: "		names = releaseAll(ctx, leases, reason)\n", new: "",
	},
	{
		name: "granted after the end of the session", file: "session/acquire.go",
		old: "		_, _, _ = l.p.end(l, \"its session has ended\")", new: "		",
	},
	{
		name: "max_hold ignored", file: "session/machine.go",
		old: "case l.phase == granted && l.maxHoldAt != 0 && now >= l.maxHoldAt:", new: "case false:",
	},
	{
		name: "min_hold ignored", file: "session/place.go",
		old: "if l.keepUntil > now {", new: "if false {",
	},
	{
		name: "re-entry counts before the store knows", file: "session/entries.go",
		old: "if err != nil && d > 0 {", new: "if false {",
	},
	{
		name: "a waiting session counts as silent", file: "session/session.go",
		old: "if len(s.waiting) > 0 {", new: "if false {",
	},
	{
		name: "a lost hold is not remembered", file: "session/session.go",
		old: "		s.keepLost(k, l.err)\n\t}\n\tif !s.o.OneLock", new: "	}\n\tif !s.o.OneLock",
	},
	{
		name: "a repeat with the same id enters again", file: "session/replay.go",
		old: "if r := s.replays[key]; r != nil {", new: "if r := s.replays[key]; false {",
	},
	{
		name: "the name passed on is not watched", file: "session/request.go",
		old: "		p.watchAt = p.m.cfg.Clock() + a.Wait + slack\n", new: "",
	},
	{
		name: "a new connection for messages asks for nothing", file: "session/hints.go",
		old: "case backend.HintFree, backend.HintResync:\n\t\tp.again = 0", new: "case backend.HintFree, backend.HintResync:",
	},

	{
		name: "store: no request numbers", file: "backend/memory/lock.go",
		old: "numbered && inc == f.inc && seq < f.seq", new: "false",
	},
	{
		name: "store: no incarnations", file: "backend/memory/lock.go", test: "./backend/memory",
		old: "inc < max(f.inc, node.inc) ||", new: "inc < max(f.inc, node.inc) && false ||",
	},
	{
		name: "store: the head leaves the queue at the grant", file: "backend/memory/promote.go",
		old: "				l.hold.provisional, l.hold.until = true, now.Add(Window)\n", new: "				l.hold.provisional, l.hold.until = true, now.Add(Window)\n\t\t\t\tl.dequeue(e.by)\n\t\t\t\treturn false\n",
	},
	{
		name: "store: no suspects", file: "backend/memory/promote.go", test: "./backend/memory",
		old: "				l.suspect[e.by.node] = true // until it asks for something\n", new: "",
	},
	{
		name: "store: a repeat does not set the lease anew", file: "backend/memory/memory.go",
		old: "			return l.lease(me, r), nil\n\t\t}\n\t\tl.free(0)", new: "			return backend.Answer{Granted: true, Hold: l.hold.fence, Block: l.hold.block, Turns: l.hold.turns}, nil\n\t\t}\n\t\tl.free(0)",
	},
	{
		name: "store: a hold left over is granted again", file: "backend/memory/memory.go", test: "./backend/memory",
		old: "if l.hold.seq == r.Seq && l.hold.inc == b.node.Incarnation {", new: "if true {",
	},
	{
		name: "store: cancel only leaves the queue", file: "backend/memory/memory.go", test: "./backend/memory",
		old: "		if l.heldBy(me) && (l.hold.seq == r.Attempt || l.hold.fence == r.Hold) {\n\t\t\tl.free(0)\n\t\t}\n", new: "",
	},
	{
		name: "store: release without a look at the fence", file: "backend/memory/memory.go",
		old: "if l.heldBy(b.sender(r)) && l.hold.fence == r.Hold {\n\t\t\tl.given", new: "if l.held() != nil {\n\t\t\tl.given",
	},
	{
		name: "store: renewal without a look at the fence", file: "backend/memory/memory.go", test: "./backend/memory",
		old: "|| l.hold.fence != r.Hold {\n\t\t\terrs[i]", new: "{\n\t\t\terrs[i]",
	},
	{
		name: "store: a late renewal shortens", file: "backend/memory/memory.go", test: "./backend/memory",
		old: "until.After(l.hold.until) {\n\t\t\tl.hold.until = until\n\t\t}\n\t}\n\treturn errs", new: "true {\n\t\t\tl.hold.until = until\n\t\t}\n\t}\n\treturn errs",
	},
	{
		name: "store: fences by counting alone", file: "backend/memory/lock.go", test: "./backend/memory",
		old: ", least+1)", new: ")",
	},
}
