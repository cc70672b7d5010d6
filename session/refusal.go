package session

import (
	"errors"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// refusal says why l does not get the name.
func (p *place) refusal(l *Lease, code Code) *Error {
	unanswered := p.phase == idle || p.phase == releasing || p.phase == reclaiming && p.cur == nil || p.cur == l
	switch {
	case unanswered && p.req != nil && p.req.verb == acquire && (p.trouble == nil || p.req.unknown):
		return &Error{
			Code: CodeOutcomeUnknown, Lock: l.name, RetryAfter: time.Second,
			Detail: "the store gave no answer in time; nothing is held, and what the store may have granted is being undone",
		}
	case unanswered && p.trouble != nil:
		return &Error{Code: CodeUnavailable, Lock: l.name, RetryAfter: retryAfter(p.trouble), Detail: p.trouble.Error()}
	case unanswered && p.req != nil:
		return &Error{
			Code: CodeUnavailable, Lock: l.name, RetryAfter: time.Second,
			Detail: "the store has not confirmed in time that the lock can be passed on",
		}
	}
	e := &Error{Code: code, Lock: l.name, Detail: "another holds the lock", RetryAfter: time.Second}
	if code == CodeWaitTimeout {
		e.Detail = "another held the lock for all of the wait"
	}
	e.Position = p.position(l)
	if e.Holder = p.holderNow(); e.Holder == nil {
		e.Detail = "others wait for the lock and come first"
	}
	return e
}

// retryAfter is when to ask a store again that has answered err.
func retryAfter(err error) time.Duration {
	var later *backend.Later
	if errors.As(err, &later) {
		return max(later.After, time.Millisecond) // 0 would mean that it is unknown
	}
	return time.Second
}

// position of l, which waits or would wait; 1 is next.
func (p *place) position(l *Lease) int {
	n := p.queue.n + 1
	if l.queued {
		n = p.queue.position(l)
	}
	if p.key.slot != "" { // the queue is the store's
		n += p.ahead
	}
	return n
}

// holderNow is who has the name, as far as this node knows without asking.
func (p *place) holderNow() *Holder {
	if p.cur != nil {
		h := p.cur.holder
		return &h
	}
	return holderOf(p.holder)
}

// refuseHasty answers those who do not want to wait.
func (p *place) refuseHasty(err func(*Lease) *Error) {
	for l := p.queue.first; l != nil && p.queue.noWait > 0; {
		next := l.next
		if l.noWait {
			l.err = err(l)
			p.queue.remove(l)
			l.phase = over
			l.signal()
		}
		l = next
	}
}

// refuseAll answers everybody who waits.
func (p *place) refuseAll(err *Error) {
	for p.queue.first != nil {
		l := p.queue.first
		e := *err
		e.Lock, l.err = l.name, &e
		p.queue.remove(l)
		l.phase = over
		l.signal()
	}
}
