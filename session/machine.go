package session

import "time"

// advance does all that can be done now and sets the timer for what comes next.
func (p *place) advance() { p.advanceAt(p.m.cfg.Clock()) }

func (p *place) advanceAt(now time.Duration) {
	if p.gone {
		return
	}
	for p.step(now) {
	}
	if p.phase == idle && p.req == nil && p.queue.n == 0 && p.watchAt == 0 && !p.watching {
		p.gone = true
		p.m.forget(p)
	}
	p.arm()
}

// advanceCarried is advance; what it sends first is left to the caller to carry.
func (p *place) advanceCarried(now time.Duration) *request {
	p.carrier = true
	p.advanceAt(now)
	q := p.carried
	p.carrier, p.carried = false, nil
	return q
}

// step does one thing, and says whether to look again.
func (p *place) step(now time.Duration) bool {
	if q := p.req; q != nil && !q.flying && now >= q.retryAt && p.wanted(q) {
		p.fly(q)
		return false
	}
	switch p.phase {
	case idle:
		return p.stepIdle(now)
	case queued:
		return p.stepQueued(now)
	case holding:
		return p.stepHolding(now)
	case reclaiming:
		return p.stepReclaiming(now)
	default:
		return p.stepReleasing(now)
	}
}

// wanted: q is worth another sending.
func (p *place) wanted(q *request) bool {
	switch q.verb {
	case acquire, confirm:
		return p.queue.n > 0
	case settle, extend:
		return !p.late()
	default:
		return q.giveUp == 0 || p.m.cfg.Clock() < q.giveUp
	}
}

func (p *place) stepIdle(now time.Duration) bool {
	q := p.req
	switch {
	case q != nil && !q.flying && p.queue.n == 0 && q.unknown:
		p.attempt = q.r.Seq
		p.undo()
	case q != nil && !q.flying && p.queue.n == 0:
		p.req = nil
		return true
	case q == nil && p.queue.n > 0:
		p.watchAt = 0
		p.askFor(acquire, 0)
	case q == nil && p.hint != 0:
		p.undo() // granted to nobody here
	case q == nil && p.watchAt != 0 && now >= p.watchAt:
		p.watchAt, p.watching = 0, true
		p.m.promote(p)
	}
	return false
}

func (p *place) stepQueued(now time.Duration) bool {
	switch {
	case p.req != nil && p.req.flying:
	case p.queue.n == 0:
		p.undo()
	case p.req != nil: // its turn to be sent again comes
	case p.hint != 0:
		p.askFor(confirm, 0)
	case now >= p.again:
		p.askFor(acquire, p.attempt)
	}
	return false
}

func (p *place) stepHolding(now time.Duration) bool {
	if now >= p.hold.deadline {
		p.lose(reasonExpired)
		return true
	}
	p.keepUp(now)
	if p.cur != nil {
		return p.stepTurn(now)
	}
	prefetching := p.req != nil && p.req.verb == extend && !p.req.r.Queue
	switch {
	case p.req != nil && !(prefetching && p.hold.left > 0) && !(p.queue.n == 0 && (prefetching || p.req.verb == settle)):
	case p.queue.n == 0:
		p.letGo(0)
		return true
	case p.hold.others != 0 && now-p.hold.others >= p.m.cfg.Fairness.MaxTurnTime,
		p.queue.first.ttl < p.hold.ttl: // a lease cannot be made shorter, only taken anew
		p.letGo(0)
		return true
	case p.hold.left+p.hold.more == 0:
		p.askFor(extend, 0)
	case p.hold.deadline-now <= p.hold.ttl/3 && !p.hold.fresh: // too little to give away
		if !p.hold.failing {
			p.renew()
		}
	default:
		p.give(now)
		return true
	}
	return false
}

// stepTurn: a turn is under way.
func (p *place) stepTurn(now time.Duration) bool {
	l := p.cur
	switch {
	case l.phase == kept && now >= l.keepUntil:
		p.cur = nil
		p.m.cfg.Journal.Free(p.entry())
		return true
	case l.phase == granted && l.maxHoldAt != 0 && now >= l.maxHoldAt:
		p.drop(l, reasonMaxHold)
		if p.m.cfg.Delay > 0 {
			p.letGo(p.m.cfg.Delay)
		}
		return true
	case p.shouldPrefetch():
		p.prefetch()
	}
	return false
}

func (p *place) stepReleasing(now time.Duration) bool {
	q := p.req
	if q == nil || q.flying || q.giveUp == 0 || now < q.giveUp {
		return false
	}
	if q.done != nil {
		close(q.done)
	}
	p.req, p.phase = nil, idle // the lease has run out in the store
	return true
}

// stepReclaiming: what is told to be held is held until its deadline, whether or
// not the store has answered. A release has to wait for that answer, by which all
// that the process before has left there is dropped.
func (p *place) stepReclaiming(now time.Duration) bool {
	switch l := p.cur; {
	case l != nil && now >= p.hold.deadline:
		p.dropEarly(l, reasonExpired)
	case l != nil && l.phase == granted && l.maxHoldAt != 0 && now >= l.maxHoldAt:
		p.dropEarly(l, reasonMaxHold)
	case l != nil && l.phase == kept && now >= l.keepUntil:
		p.cur = nil
		p.m.cfg.Journal.Free(p.entry())
	default:
		return false
	}
	return true
}

// arm has tick called when something is due next, or earlier. One whose time has passed
// is about to be called.
func (p *place) arm() {
	due := p.due()
	switch {
	case p.gone:
		p.m.timers.remove(p)
	case due != 0 && (p.armed == 0 || p.armed > due):
		p.armed = due
		p.m.timers.set(p, due)
	}
}

func (p *place) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = 0
	if !p.gone {
		p.advance()
	}
}

// due is when something has to be done next; 0: nothing has.
func (p *place) due() time.Duration {
	var d time.Duration
	add := func(at time.Duration) {
		if at != 0 && (d == 0 || at < d) {
			d = at
		}
	}
	if q := p.req; q != nil && !q.flying {
		add(q.retryAt)
		add(q.giveUp)
	}
	switch {
	case p.phase == idle:
		add(p.watchAt)
	case p.phase == queued && p.req == nil:
		add(max(p.again, 1))
	case p.phase == reclaiming && p.cur != nil:
		add(p.hold.deadline)
		if p.cur.phase == kept {
			add(p.cur.keepUntil)
		} else {
			add(p.cur.maxHoldAt)
		}
	case p.phase == holding:
		add(p.hold.deadline)
		add(p.hold.describe)
		if p.renews() {
			add(p.hold.renewAt)
		}
		if p.cur != nil && p.cur.phase == granted {
			add(p.cur.maxHoldAt)
		} else if p.cur != nil {
			add(p.cur.keepUntil)
		}
	}
	return d
}
