//go:build planted

package planted

// guards are the tests of what a Redis that may have forgotten grants.
const guards = "^Test(Quarantine($|Proofs|Knows)|Forgotten|Guard)"

var bugs = []bug{
	{
		name: "deadline from the answer instead of the sending", file: "session/answer.go",
		old: "deadline: q.sentAt + q.r.TTL - margin(q.r.TTL), fresh: true,",
		new: "deadline: p.m.cfg.Clock() + q.r.TTL - margin(q.r.TTL), fresh: true,",
	},
	{
		name: "renewed deadline from the answer", file: "session/turns.go",
		old: "p.prolong(sentAt + r.TTL - margin(r.TTL))", new: "p.prolong(now + r.TTL - margin(r.TTL))",
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
		name: "who hangs up keeps an entry", file: "session/hold.go",
		old: "	ctx = context.WithoutCancel(ctx) // what it may wait for is bounded by Config.Timeout\n", new: "",
	},
	{
		name: "a whole block is reserved ahead", file: "session/turns.go",
		old: "Turns: p.m.cfg.Fairness.MaxTurns - p.hold.left,", new: "Turns: p.m.cfg.Fairness.MaxTurns,",
	},
	{
		name: "turns wait for the next block", file: "session/machine.go",
		old: "!(prefetching && p.hold.left > 0) && ", new: "",
	},
	{
		name: "no record of the intent", file: "session/turns.go",
		old: "		p.m.cfg.Journal.Wants(p.entry())\n", new: "",
	},
	{
		name: "no record of a renewal", file: "session/turns.go",
		old: "		p.m.cfg.Journal.Deadline(p.entry(), deadline)\n", new: "",
	},
	{
		name: "no record of a turn", file: "session/place.go",
		old: "	p.m.cfg.Journal.Told(p.entry(), l.entry(), l.answered())\n", new: "",
	},
	{
		name: "no record of a release", file: "session/place.go",
		old: "		p.m.cfg.Journal.Released(p.entry(), l.s.id, answer.released(l, 0))\n", new: "",
	},
	{
		name: "no record of a loss", file: "session/turns.go",
		old: "		p.m.cfg.Journal.Lost(p.entry(), l.s.id, l.loss(reason))\n", new: "",
	},
	{
		name: "no record of the entries", file: "session/entries.go",
		old: "		p.m.cfg.Journal.Entries(p.entry(), l.s.id, n, answer.granted(l))\n", new: "_ = answer\n",
	},
	{
		name: "a late reclaim revives", file: "session/restore.go",
		old: "	if l := p.cur; l != nil && p.late() {\n", new: "	if l := p.cur; false {\n",
	},
	{
		name: "what is reclaimed is not looked at by the clock", file: "session/machine.go",
		old: "	case l != nil && now >= p.hold.deadline:\n", new: "	case false:\n",
	},
	{
		name: "a fixed lease is prolonged by a restart", file: "session/restore.go",
		old: "		if l.fixed {\n", new: "		if false {\n",
	},
	{
		name: "reclaim keeps what is not named", file: "backend/memory/memory.go",
		old: "		if h != nil {\n\t\t\tl.free(h, 0)\n\t\t}\n\t\treturn b.passOn(l, r), nil\n\t})\n}\n\n// Break", new: "		return b.passOn(l, r), nil\n\t})\n}\n\n// Break",
	},
	{
		name: "reclaim keeps the place in the queue", file: "backend/memory/memory.go",
		old: "		l.dequeue(me)\n\t\tif r.Hold != 0", new: "		if r.Hold != 0",
	},
	{
		name: "script: reclaim keeps what is not named", file: "backend/redis/reclaim.lua", test: "./backend/redis",
		old: "if h then\n  let_go(h, '0')\nend\n", new: "",
	},
	{
		name: "script: reclaim without a look at the fence", file: "backend/redis/reclaim.lua", test: "./backend/redis",
		old: "if h and h.fence == the_hold then", new: "if h then",
	},
	{
		name: "given to others before the deadline that was told", file: "session/restore.go",
		old: "max(s.m.cfg.Session.Reattach, told-s.m.cfg.Clock())", new: "s.m.cfg.Session.Reattach",
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
		old: "	p.letGo(p.m.cfg.Delay)\n}\n\n// missing", new: "	p.phase = idle\n}\n\n// missing",
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
		name: "watchdog renews before the first turn", file: "session/turns.go",
		old: "!p.hold.fresh && (p.cur", new: "(p.cur",
	},
	{
		name: "a refused acquire may still be granted", file: "session/answer.go",
		old: "	if q.unknown && p.queue.n == 0 {", new: "	if false {",
	},
	{
		name: "one of several is renewed as an exclusive hold", file: "session/turns.go",
		old: "Mode: p.hold.mode, ", new: "",
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
		name: "the end of a session leaves its waits", file: "session/wait.go",
		old: "		case <-s.ctx.Done():\n\t\t\tl.p.leave(l)\n\t\t\treturn nil, s.gone(l.name)\n", new: "",
	},
	{
		name: "the end of a session leaves its holds", file: "session/end.go",
		old: "	released = endAll(ctx, leases, reason, then)\n", new: "",
	},
	{
		name: "the client of a session that was ended by force is not told", file: "session/end.go",
		old: "end, reason = l.p.revoke, reasonEnded", new: "_ = reasonEnded",
	},
	{
		name: "granted after the end of the session", file: "session/acquire.go",
		old: "		_, _ = l.p.giveUp(l, \"its session has ended\")", new: "		",
	},
	{
		name: "max_hold ignored", file: "session/machine.go",
		old: "	case l.phase == granted && l.maxHoldAt != 0 && now >= l.maxHoldAt:", new: "	case false:",
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
		name: "a lost hold is not remembered", file: "session/end.go",
		old: "		s.keepLost(k, l.err)\n\t}\n\tif !s.o.OneLock", new: "	}\n\tif !s.o.OneLock",
	},
	{
		name: "a repeat with the same id enters again", file: "session/replay.go",
		old: "if r := s.replays[key]; r != nil {", new: "if r := s.replays[key]; false {",
	},
	{
		name: "the name passed on is not watched", file: "session/answer.go",
		old: "		p.watchAt = p.m.cfg.Clock() + a.Wait + slack\n", new: "",
	},
	{
		name: "a new connection for messages asks for nothing", file: "session/hints.go",
		old: "	case backend.HintResync:\n\t\tp.askBy(1)\n", new: "	case backend.HintResync:\n",
	},

	{
		name: "store: no request numbers", file: "backend/memory/lock.go",
		old: "numbered && inc == f.inc && seq < f.seq", new: "false",
	},
	{
		name: "store: a contender forgets the requests of another", file: "backend/memory/lock.go", test: "./backend/memory",
		old: "		if node.inc < inc {\n", new: "		if true {\n",
	},
	{
		name: "store: no incarnations", file: "backend/memory/lock.go", test: "./backend/memory",
		old: "inc < max(f.inc, node.inc) ||", new: "inc < max(f.inc, node.inc) && false ||",
	},
	{
		name: "store: the head leaves the queue at the grant", file: "backend/memory/promote.go",
		old: "	h.provisional, h.until = true, time.Now().Add(Window)\n", new: "	h.provisional, h.until = true, time.Now().Add(Window)\n\tl.dequeue(e.by)\n",
	},
	{
		name: "store: no suspects", file: "backend/memory/promote.go", test: "./backend/memory",
		old: "	l.suspect[e.by.node] = h.until // until it asks for something\n", new: "",
	},
	{
		name: "store: a repeat does not set the lease anew", file: "backend/memory/memory.go",
		old: "			return l.lease(h, r), nil\n\t\t}\n\t\tl.free(h, 0)", new: "			return l.granted(h), nil\n\t\t}\n\t\tl.free(h, 0)",
	},
	{
		name: "store: a hold left over is granted again", file: "backend/memory/memory.go", test: "./backend/memory",
		old: "if h.seq == r.Seq && h.inc == b.node.Incarnation {", new: "if true {",
	},
	{
		name: "store: cancel only leaves the queue", file: "backend/memory/memory.go", test: "./backend/memory",
		old: "		l.withdraw(me, r.Attempt)\n\t\treturn b.passOn(l, r), nil\n\t})\n\treturn err", new: "		l.dequeue(me)\n\t\treturn b.passOn(l, r), nil\n\t})\n\treturn err",
	},
	{
		name: "store: release without a look at the fence", file: "backend/memory/memory.go",
		old: "if h := l.the(me, r.Hold); h != nil {\n\t\t\tif h.mode", new: "if l.held() {\n\t\t\th := l.holds[0]\n\t\t\tif h.mode",
	},
	{
		name: "store: renewal without a look at the fence", file: "backend/memory/memory.go", test: "./backend/memory",
		old: "if h := l.the(contender{b.node.ID, r.Slot}, r.Hold); h != nil {", new: "if h := l.heldBy(contender{b.node.ID, r.Slot}); h != nil {",
	},
	{
		name: "store: a late renewal shortens", file: "backend/memory/lock.go", test: "./backend/memory",
		old: "until.After(h.until) {", new: "true {",
	},
	{
		name: "store: fences by counting alone", file: "backend/memory/lock.go", test: "./backend/memory",
		old: ", least+1)", new: ")",
	},

	{
		name: "store: fences without the clock", file: "backend/memory/lock.go", test: "./backend/memory",
		old: "return max(l.top+1, backend.Fence(time.Now().UnixMicro()), least+1)", new: "return max(l.top+1, least+1)",
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
		name: "script: no request numbers", file: "backend/redis/head.lua", test: "./backend/redis",
		old: "(numbered and inc == seen_inc and tonumber(seq) < tonumber(seen_seq))", new: "false",
	},
	{
		name: "script: a contender forgets the requests of another", file: "backend/redis/head.lua", test: "./backend/redis",
		old: "  if nodefloor ~= floor and node_inc == tonumber(inc) then\n", new: "  if false then\n",
	},
	{
		name: "script: no incarnations", file: "backend/redis/head.lua", test: "./backend/redis",
		old: "if tonumber(inc) < math.max(tonumber(seen_inc), node_inc)\n    or ", new: "if ",
	},
	{
		name: "script: the state alone proves the hold", file: "backend/redis/common.lua", test: "./backend/redis",
		old: "if not h[1] or redis.pcall('HEXISTS', lock, h[8]) ~= 1 then", new: "if not h[1] then",
	},
	{
		name: "script: the head leaves the queue at the grant", file: "backend/redis/common.lua", test: "./backend/redis",
		old: "  grant(c, e, window, '1')\n", new: "  grant(c, e, window, '1')\n  dequeue(c)\n",
	},
	{
		name: "script: no suspects", file: "backend/redis/common.lua", test: "./backend/redis",
		old: "  redis.call('HSET', entries, '~' .. node_of(c), int(ms + window)) -- until it asks for something\n", new: "",
	},
	{
		name: "script: nobody listens, granted all the same", file: "backend/redis/common.lua", test: "./backend/redis",
		old: "slot_of(c) .. ' ' .. name) == 0 then\n    return false", new: "slot_of(c) .. ' ' .. name) < 0 then\n    return false",
	},
	{
		name: "script: fences rounded", file: "backend/redis/head.lua", test: "./backend/redis",
		old: "local function int(n) return string.format('%.0f', n) end", new: "local function int(n) return tostring(n) end",
	},
	{
		name: "script: fences without the clock", file: "backend/redis/head.lua", test: "./backend/redis",
		old: "math.max(reserved, us - 1, ...)", new: "math.max(reserved, ...)",
	},
	{
		name: "script: a repeat does not set the lease anew", file: "backend/redis/common.lua", test: "./backend/redis",
		old: "    if h.seq == seq and h.inc == inc then\n      return lease(h)", new: "    if h.seq == seq and h.inc == inc then\n      return { 'granted', h.fence, h.block, h.turns, 0 }",
	},
	{
		name: "script: a newcomer overtakes the queue", file: "backend/redis/common.lua", test: "./backend/redis",
		old: "if redis.call('EXISTS', lock, queue) == 0 and known() then", new: "if redis.call('EXISTS', lock) == 0 and known() then",
	},
	{
		name: "script: a quick newcomer overtakes the queue", file: "backend/redis/acquire_quick.lua", test: "./backend/redis",
		old: "redis.call('EXISTS', lock, queue, entries, seen[3]", new: "redis.call('EXISTS', lock, lock, lock, seen[3]",
	},
	{
		name: "script: a quick newcomer takes what is held", file: "backend/redis/acquire_quick.lua", test: "./backend/redis",
		old: "redis.call('EXISTS', lock, queue, entries, seen[3]", new: "redis.call('EXISTS', queue, entries, seen[3]",
	},
	{
		name: "script: a quick release without a look at the fence", file: "backend/redis/release_quick.lua", test: "./backend/redis",
		old: " and h[2] == the_hold", new: "",
	},
	{
		name: "script: a quick release without a look at the queue", file: "backend/redis/release_quick.lua", test: "./backend/redis",
		old: "not wants_queue and redis.call('EXISTS', queue, entries) == 0", new: "not wants_queue",
	},
	{
		name: "script: a quick release without a look at the lock", file: "backend/redis/release_quick.lua", test: "./backend/redis",
		old: " and redis.pcall('HEXISTS', lock, h[3]) == 1", new: "",
	},
	{
		name: "script: a quick release does not tell the fence", file: "backend/redis/release_quick.lua", test: "./backend/redis",
		old: "    given()\n", new: "",
	},
	{
		name: "script: release without a look at the fence", file: "backend/redis/release.lua", test: "./backend/redis",
		old: "if h and h.fence == the_hold then", new: "if h then",
	},
	{
		name: "script: renewal without a look at the fence", file: "backend/redis/renew.lua", test: "./backend/redis",
		old: "and h[2] == fence ", new: "",
	},
	{
		name: "script: cancel only leaves the queue", file: "backend/redis/cancel.lua", test: "./backend/redis",
		old: "withdraw()", new: "dequeue(me)",
	},
	{
		name: "script: nothing is published at the release", file: "backend/redis/head.lua", test: "./backend/redis",
		old: "  announce()\nend", new: "end",
	},
	{
		name: "script: a lock without an expiry", file: "backend/redis/head.lua", test: "./backend/redis",
		old: "  redis.call('HSET', lock, e.owner, '1')\n  redis.call('PEXPIRE', lock, life)\n", new: "  redis.call('HSET', lock, e.owner, '1')\n",
	},
	{
		name: "releases are refused while Redis is full", file: "backend/redis/scripts.go", test: "./backend/redis",
		old: "releaseScript  = newScript(\"allow-oom\"", new: "releaseScript  = newScript(\"\"",
	},
	{
		name: "a holder outside lockgw is not listened for", file: "backend/redis/redis.go", test: "./backend/redis",
		old: "	b.watch(place{r.Name, r.Slot}, b.announced(ctx, r.Name, a))\n", new: "",
	},
	{
		name: "the breaker gates renewals", file: "backend/breaker/breaker.go", test: "./backend/breaker",
		old: "// judge tells what err says about the store.\n", new: "func (g *breaker) Renew(ctx context.Context, rs []backend.Renewal) ([]error, error) {\n\tif _, err := g.cb.Allow(); err != nil {\n\t\treturn nil, g.refusal()\n\t}\n\treturn g.Backend.Renew(ctx, rs)\n}\n\n",
	},
	{
		name: "told before the store knows", file: "session/place.go",
		old: "case l.phase != granted || p.settling():", new: "case l.phase != granted:",
	},
	{
		name: "a message to ask again is forgotten by an older answer", file: "session/answer.go",
		old: "if nudge != 0 {", new: "if false {",
	},
	{
		name: "a message that others wait is forgotten by an older answer", file: "session/answer.go",
		old: "if a.Others || crowded {", new: "if a.Others || crowded && false {",
	},
	{
		name: "a caller whose turn cannot be settled waits for ever", file: "session/place.go",
		old: "case l.phase != waiting && !p.settling():", new: "case l.phase != waiting:",
	},
	{
		name: "a release leaves what a late acquire was granted", file: "session/turns.go",
		old: "r.Hold, r.Attempt, r.Turn, r.Delay = p.hold.fence, p.attempt, p.hold.last, delay", new: "r.Hold, r.Turn, r.Delay = p.hold.fence, p.hold.last, delay",
	},
	{
		name: "store: extend writes the owner", file: "backend/memory/memory.go",
		old: "		h.prolong(r.TTL)\n\t\treturn l.granted(h), nil", new: "		h.owner, h.count = r.Owner, max(r.Count, 1)\n\t\th.prolong(r.TTL)\n\t\treturn l.granted(h), nil",
	},
	{
		name: "store: descriptions in any order", file: "backend/memory/memory.go",
		old: "if r.Seq >= h.described {", new: "if true {",
	},
	{
		name: "who shares a name is overtaken by turns", file: "session/places.go",
		old: " && m.slotted[name] == nil {", new: " {",
	},
	{
		name: "an exclusive entry into a shared hold", file: "session/lease.go",
		old: "if m == l.mode || m == backend.Shared && l.mode == backend.Exclusive {", new: "if true {",
	},
	{
		name: "a restart forgets the mode", file: "session/restore.go",
		old: "r.Seq, r.Mode, r.TTL,", new: "r.Seq, _, r.TTL,",
	},
	{
		name: "an embedded store grants before it knows of all holds", file: "session/restore.go",
		old: "	p.carrier = !m.Info().Shared\n", new: "",
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
		name: "max_hold ignored until the store has answered", file: "session/machine.go",
		old: "	case l != nil && l.phase == granted && l.maxHoldAt != 0", new: "	case false && l.maxHoldAt != 0",
	},
	{
		name: "no delay after a loss before the store has answered", file: "session/restore.go",
		old: "	if p.hold.lost && p.m.cfg.Delay > 0 {\n", new: "	if false {\n",
	},
	{
		name: "a moment beyond the clock", file: "session/acquire.go",
		old: "	case a.MaxHold > longest:\n", new: "	case false:\n",
	},
	{
		name: "script: a semaphore without a size", file: "backend/redis/shares.lua", test: "./backend/redis",
		old: " and (tonumber(m) < 0 or redis.call('ZCARD', ends) < tonumber(m))", new: "",
	},
	{
		name: "script: who shares overtakes who waits for the name alone", file: "backend/redis/common.lua", test: "./backend/redis",
		old: "              return answer -- nobody overtakes it\n", new: "",
	},
	{
		name: "script: a waiter that is gone keeps all others waiting", file: "backend/redis/common.lua", test: "./backend/redis",
		old: "if c == asks or not deaf[node] and hears(c, e) then", new: "if true then",
	},
	{
		name: "script: one name of two kinds", file: "backend/redis/common.lua", test: "./backend/redis",
		old: "  return present and kind(present) ~= kind(mode)\n", new: "  return false\n",
	},
	{
		name: "script: a permit outlives its lease", file: "backend/redis/shares.lua", test: "./backend/redis",
		old: "  for _, c in ipairs(over) do\n    drop_share(c)\n  end\n", new: "",
	},
	{
		name: "script: the lock ends with the first of several holds", file: "backend/redis/shares.lua", test: "./backend/redis",
		old: "redis.call('ZREVRANGE', ends, 0, 0, 'WITHSCORES')\n  if not last", new: "redis.call('ZRANGE', ends, 0, 0, 'WITHSCORES')\n  if not last",
	},
	{
		name: "script: one of several is renewed without a look at the fence", file: "backend/redis/renew_shares.lua", test: "./backend/redis",
		old: "if f == fence and till > ms", new: "if f and till > ms",
	},
	{
		name: "script: a server that may have forgotten grants", file: "backend/redis/head.lua", test: "./backend/redis", run: guards,
		old: "  if guard == '' then\n    return true\n  end\n  local id", new: "  if true then\n    return true\n  end\n  local id",
	},
	{
		name: "script: a repeated release proves who was the last", file: "backend/redis/release_quick.lua", test: "./backend/redis", run: guards,
		old: "string.sub(guard, 1, 1) == '!'", new: "wary",
	},
	{
		name: "script: a release proves nothing", file: "backend/redis/release_quick.lua", test: "./backend/redis", run: guards,
		old: "string.sub(guard, 1, 1) == '!'", new: "false",
	},
	{
		name: "script: a hold is restored after a later grant", file: "backend/redis/reclaim.lua", test: "./backend/redis", run: guards,
		old: " or mode == '0' and reserved > tonumber(least) then", new: " then",
	},
	{
		name: "script: a broken hold is restored", file: "backend/redis/break.lua", test: "./backend/redis", run: guards,
		old: "(wary and ' ' .. server() or '')", new: "''",
	},
	{
		name: "script: a grant that may have run out is confirmed", file: "backend/redis/confirm.lua", test: "./backend/redis", run: guards,
		old: " or not known() then", new: " then",
	},
	{
		name: "script: an older holder keeps the newest from coming back", file: "backend/redis/reclaim.lua", test: "./backend/redis", run: guards,
		old: "return tonumber(other.fence) < tonumber(the_hold)", new: "return false",
	},
	{
		name: "a server that has followed another one is trusted", file: "backend/redis/guard_id.go", test: "./backend/redis", run: "^TestQuarantineAfterFailback$",
		old: " ||\n\t\tstrings.Trim(said[\"master_replid2\"], \"0\") != \"\" {", new: " {\n\t\t_ = strings.Trim\n",
	},
	{
		name: "script: a server that has followed another one is the same", file: "backend/redis/head.lua", test: "./backend/redis", run: "^TestQuarantineAfterFailback$",
		old: "string.find(said, 'master_replid:', 1, true)", new: "nil",
	},
	{
		name: "a master with its first replica is put in quarantine", file: "backend/redis/guard_id.go", test: "./backend/redis", run: "^TestNoQuarantineForANewReplica$",
		old: "	if !trusted {\n", new: "	if trusted || true {\n",
	},
	{
		name: "an empty server counts as a new one", file: "backend/redis/guard.go", test: "./backend/redis", run: "^TestQuarantineWhateverIsOnDisk$",
		old: "	case marked == \"\" && unused:\n", new: "	case marked == \"\":\n",
	},
	{
		name: "a server that was restarted is trusted", file: "backend/redis/guard.go", test: "./backend/redis", run: "^TestQuarantineWhateverIsOnDisk$",
		old: "	case g.unbroken(ctx, c, id, marked):\n", new: "	case marked != \"\":\n",
	},
	{
		name: "a forgotten hold is given up", file: "session/turns.go", test: "./backend/redis", run: guards,
		old: " || !p.m.Info().Restores {", new: " || true {",
	},
	{
		name: "a fixed lease is not looked for", file: "session/hints.go", test: "./backend/redis", run: guards,
		old: "		p.missing() // a renewal would make the lease longer\n", new: "",
	},
	{
		name: "script: of several holders one alone is restored", file: "backend/redis/reclaim.lua", test: "./backend/redis", run: guards,
		old: " or mode == '0' and reserved > tonumber(least) then", new: " or reserved > tonumber(least) then",
	},
	{
		name: "script: more permits are restored than there are", file: "backend/redis/reclaim.lua", test: "./backend/redis", run: guards,
		old: "  return not taken() or room(mode)\n", new: "  return not taken() or several() == mode\n",
	},
	{
		name: "script: who has not confirmed yet is taken for a suspect", file: "backend/redis/common.lua", test: "./backend/redis",
		old: "  return till and tonumber(till) <= ms or false\n", new: "  return till and true or false\n",
	},
	{
		name: "script: a node queues behind its own callers", file: "backend/redis/common.lua", test: "./backend/redis",
		old: "  if me == node_of(me) then\n", new: "  if false then\n",
	},
	{
		name: "store: who has not confirmed yet is taken for a suspect", file: "backend/memory/promote.go",
		old: "	return ok && !time.Now().Before(till)\n", new: "	_ = till\n\treturn ok\n",
	},
	{
		name: "store: a node queues behind its own callers", file: "backend/memory/lock.go",
		old: "	if c.slot != \"\" || own < 0 {\n", new: "	if own < 0 || true {\n",
	},
	{
		name: "a message for later hides one for now", file: "session/hints.go",
		old: " && (p.nudge == 0 || at < p.nudge) {", new: " {",
	},
	{
		name: "redlock: readers never let a writer in", file: "backend/redlock/common.lua", test: redlock,
		old: "    return barred() and 'held' or nil\n", new: "    return nil\n", run: "TestBackend/modes",
	},
	{
		name: "redlock: permits are counted", file: "backend/redlock/common.lua", test: redlock,
		old: "  return other and other ~= me and 'held' or nil\n", new: "  return redis.call('ZCARD', ends) >= tonumber(mode) and 'held' or nil\n", run: "PermitsHaveNumbers",
	},
	{
		name: "redlock: a late renewal brings a share back", file: "backend/redlock/fill.lua", test: redlock,
		old: "math.max(over, share_over)", new: "over", run: "LateRenewalOfShare",
	},
	{
		name: "redlock: a share comes back after an exclusive hold", file: "backend/redlock/fill.lua", test: redlock,
		old: "math.max(over, share_over)", new: "share_over", run: "LateRenewal",
	},
	{
		name: "redlock: each end of a share wakes who cannot be let in", file: "backend/redlock/common.lua", test: redlock,
		old: "  if several() ~= '-1' then", new: "  if true then", run: "EndQuietly",
	},
	{
		name: "redlock: semaphores of any size together", file: "backend/redlock/common.lua", test: redlock,
		old: "  if clash then\n", new: "  if false then\n", run: "TestBackend/modes",
	},
	{
		name: "redlock: a share is not set again", file: "backend/redlock/renew_shares.lua", test: redlock,
		old: "      results[i] = 2\n", new: "", run: "SetAgain",
	},
	{
		name: "redlock: a waiter behind one who is gone hears nothing", file: "backend/redlock/acquire.lua", test: redlock,
		old: "if unbarred and several() or room() then", new: "if room() then", run: "TestBackend/modes",
	},
	{
		name: "redlock: a ballot that has failed wins", file: "backend/redlock/election.go", test: redlock,
		old: " && v.reply.Fence(3) == e.ballot {",
		new: " {", run: "LateUndo",
	},
	{
		name: "redlock: two ballots of a request are the same", file: "backend/redlock/ballot.go", test: redlock,
		old: "max(t.ballot, before.ballot+1)",
		new: "max(t.ballot, before.ballot)", run: "BallotsDiffer",
	},
	{
		name: "redlock: the ballots before the last one stay", file: "backend/redlock/cancel.lua", test: redlock,
		old: "  ours = ours and h.inc == inc and tonumber(h.fence) <= tonumber(the_hold)\n",
		new: "  ours = false\n", run: "UndoTakes",
	},
	{
		name: "redlock: who was cut short takes nothing back", file: "backend/redlock/acquire.go", test: redlock,
		old: "\tb.start(func() { send(context.WithoutCancel(ctx)) }) // who asked may never ask again\n",
		new: "", run: "NothingIsLeftOf",
	},
	{
		name: "redlock: a release is told of by the first node alone", file: "backend/redlock/hint.go", test: redlock,
		old: "\tb.waits[placeOf(r)] = 1\n",
		new: "\tb.waits[placeOf(r)] = max(b.waits[placeOf(r)], 1)\n", run: "ToldBefore",
	},
	{
		name: "redlock: of permits that are free at once one is told of", file: "backend/redlock/acquire.lua", test: redlock,
		old: "if unbarred and several() or room() then",
		new: "if unbarred and several() then", run: "FreeAtOnce",
	},
	{
		name: "redlock: a waiter that was told of a permit keeps it to itself", file: "backend/redlock/cancel.lua", test: redlock,
		old: " or several() == '-1' or room()) then",
		new: " or several() == '-1') then", run: "FreeAtOnce",
	},
	{
		name: "redlock: the end of a share keeps out older ones", file: "backend/redlock/release.lua", test: redlock,
		old: "bury(tonumber(the_hold), given, true)",
		new: "bury(tonumber(the_hold), given, mode ~= '0')", run: "EndOfAShare",
	},
	{
		name: "redlock: a contender forgets the requests of another", file: "backend/redlock/head.lua", test: redlock,
		old: "  if nodefloor ~= floor and node_inc == tonumber(inc) then",
		new: "  if false then", run: "TestBackend/modes/an_overtaken",
	},
	{
		name: "redlock: a permit that is left is waited for", file: "backend/redlock/election.go", test: redlock,
		old: "a.Wait = min(a.Wait, calm/2+rand.N(calm/2))\n\t\t}\n",
		new: "}\n", run: "PermitThatIsLeft",
	},
	{
		name: "redlock: each refusal reads all shares", file: "backend/redlock/shares.lua", test: redlock,
		old: "'ZREVRANGE', ends, 0, 15)",
		new: "'ZREVRANGE', ends, 0, -1)", run: "RefusalIsCheap",
	},
	{
		name: "redlock: a share that has run out stays", file: "backend/redlock/shares.lua", test: redlock,
		old: "sweep()\n\n-- late", new: "\n-- late", run: "TestBackend/modes",
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
		old: "		return resplimit.Conn(c), nil\n", new: "		_ = resplimit.Conn\n		return c, nil\n",
	},
	{
		name: "redlock: replies are not limited", file: "backend/redis/conn/dial.go", test: redlock,
		old: "		return resplimit.Conn(c), nil\n", new: "		_ = resplimit.Conn\n		return c, nil\n", run: "HugeReplyIsRefused",
	},
	{
		name: "redlock: a server that lost its disk counts", file: "backend/redlock/memory.go", test: redlock,
		old: "durable && mark == markDurable, evicts", new: "durable, evicts", run: "RestartedEmpty/lost",
	},
	{
		name: "redlock: a server that writes late counts", file: "backend/redlock/memory.go", test: redlock,
		old: " && config[\"no-appendfsync-on-rewrite\"] == \"no\"", new: "", run: "RestartedEmpty/writes",
	},
	{
		name: "redlock: one server that lost its disk is taken for a new set", file: "backend/redlock/mark.go", test: redlock,
		old: "	if b.founder.past || unmarked < len(b.nodes) {\n", new: "	if unmarked == 0 {\n", run: "RestartedEmpty/lost",
	},
	{
		name: "script: fences beyond 2^53", file: "backend/redis/head.lua", test: "./backend/redis", run: "^TestCounterThatIsNone$",
		old: " or next_fence(least) > most + 1 - n\n", new: "\n",
	},
	{
		name: "script: a counter that is no number begins again", file: "backend/redis/head.lua", test: "./backend/redis", run: "^TestCounterThatIsNone$",
		old: "  return seen[3] and not string.match(seen[3], '^%d+$') or ", new: "  return ",
	},
	{
		name: "store: fences beyond 2^53", file: "backend/memory/lock.go", test: "./backend/memory",
		old: "-1 > backend.MaxFence {", new: "-1 > 1<<63 {",
	},
	{
		name: "redlock: a server whose counter is no number votes", file: "backend/redlock/acquire.lua", test: redlock,
		old: "if type(count_text) ~= 'string' or", new: "if false and", run: "CounterThatIsNone",
	},
	{
		name: "script: data of others is deleted", file: "backend/redis/break.lua", test: "./backend/redis", run: "^TestBreakOnlyWhatWasSeen$",
		old: "if not found then\n", new: "if false then\n",
	},
	{
		name: "script: another one's lock is broken", file: "backend/redis/break.lua", test: "./backend/redis", run: "^TestBreakOnlyWhatWasSeen$",
		old: "found ~= owner or ", new: "",
	},
	{
		name: "script: a lock that is prolonged is broken", file: "backend/redis/break.lua", test: "./backend/redis", run: "^TestBreakOnlyWhatWasSeen$",
		old: " or redis.call('PTTL', lock) > tonumber(ttl) then", new: " then",
	},
	{
		name: "redlock: another one's lock is broken", file: "backend/redlock/break.lua", test: redlock,
		old: "not string.find(owner, found .. ' ', 1, true) or ", new: "", run: "BreakOnlyWhatWasSeen",
	},
	{
		name: "a hold that goes on waits for a replica", file: "backend/redis/redis.go", test: "./backend/redis", run: guards,
		old: " && (a.Hold != r.Hold || s == confirmScript) {", new: " {",
	},
	{
		name: "who is turned away listens on", file: "backend/redis/redis.go", test: "./backend/redis", run: "^TestNoWatchIsLeft$",
		old: "			b.watch(place{r.Name, r.Slot}, \"\") // it waits no more\n", new: "",
	},
	{
		name: "script: a restored share stays for ever", file: "backend/redis/common.lua", test: "./backend/redis", run: guards,
		old: "    write(h)\n    until_then(me, ms + ttl) -- at last: it has all keys expire\n", new: "    until_then(me, ms + ttl)\n    write(h)\n",
	},
	{
		name: "two sessions with the same ID", file: "session/manager.go",
		old: "	idLength      = 18\n", new: "	idLength      = 8\n",
	},
	{
		name: "max_hold counts before the grant is told", file: "session/turns.go",
		old: "	if l.minHold > 0 {\n", new: "	if l.maxHold > 0 {\n\t\tl.maxHoldAt = now + l.maxHold\n\t}\n\tif l.minHold > 0 {\n",
	},
	{
		name: "no timer for max_hold", file: "session/place.go",
		old: "		l.maxHoldAt = p.m.cfg.Clock() + l.maxHold\n\t\tp.arm()\n", new: "		l.maxHoldAt = p.m.cfg.Clock() + l.maxHold\n",
	},
	{
		name: "who waits by itself is not counted", file: "session/queue.go",
		old: "	if q.beside != nil {\n\t\treturn int", new: "	if false {\n\t\treturn int",
	},
	{
		name: "who is refused leaves a place", file: "session/place.go",
		old: "		p.advance() // one that was made for l goes again\n", new: "",
	},
	{
		name: "a fixed lease is restored without a margin", file: "session/restore.go", test: "./backend/redis", run: guards,
		old: " + margin(l.ttl) // no longer", new: " // no longer",
	},
	{
		name: "a fixed lease is prolonged when it is restored", file: "session/restore.go", test: "./backend/redis", run: guards,
		old: "	if l := p.cur; l == nil || !l.fixed {\n", new: "	if true {\n",
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
		name: "losses without end", file: "session/journal/state.go", test: "./session/journal",
		old: "			delete(c.Losses, old)\n", new: "			_ = old\n",
	},
	{
		name: "script: a waiter that is gone has a kind", file: "backend/redis/common.lua", test: "./backend/redis",
		old: " and tonumber(e.till) > ms and hears(c, e) then -- else nobody", new: " then -- else nobody",
	},
	{
		name: "store: a waiter that is gone has a kind", file: "backend/memory/lock.go", test: "./backend/memory",
		old: "n := s.nodes[e.by.node]; n != nil && n.node.Incarnation == e.inc { // else nobody", new: "true { // else nobody",
	},
	{
		name: "script: a waiter has no kind", file: "backend/redis/common.lua", test: "./backend/redis",
		old: "        return true\n      end\n    end\n    return false\n  elseif hold() then\n", new: "        return false\n      end\n    end\n    return false\n  elseif hold() then\n",
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
