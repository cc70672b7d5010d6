package session

import (
	"cmp"
	"time"

	"github.com/lockgw/lockgw/session/contender"
)

// refusal says why l does not get the name. why is what the contender has said; 0: its
// wait is over.
func (l *Lease) refusal(code Code, why contender.Reason) (err *Error) {
	switch why {
	case contender.Conflict:
		return &Error{Code: CodeConflict, Lock: l.name, Detail: "it is in use as something else: as a lock, a semaphore of another size, " +
			"or by a program outside lockgw in a way with which this request does not go; use another name"}
	case contender.Full:
		return &Error{
			Code: CodeTooManyWaiters, Lock: l.name, RetryAfter: time.Second,
			Detail: "the limit of callers that wait for one lock (limits.waiters_per_lock) is reached",
		}
	default:
	}
	err = &Error{Code: code, Lock: l.name, Detail: "another holds the lock", RetryAfter: time.Second}
	if code == CodeWaitTimeout {
		err.Detail = "another held the lock for all of the wait"
	}
	l.n.See(func(c *contender.Contender, now time.Duration) {
		if why == contender.Failed {
			failure := l.n.Failure() // the store may have answered since, to what undoes this
			err = &Error{Code: CodeOf(failure), Lock: l.name, Detail: failure.Error()}
			return
		}
		if why == contender.Refused || why == 0 && (!l.c.Waits() || c.Granting()) || (why != contender.Held || l.wasLate()) && !l.sure(c) {
			err = l.unanswered(c)
			return
		}
		err.Position = l.position(c)
		if err.Holder = l.m.holderOf(c, now); err.Holder != nil {
			return
		}
		if trouble := l.n.Trouble(); trouble != nil && !c.Known(&l.c) { // those who wait get no answer either
			err = unavailable(l.name, trouble)
			return
		}
		if why == 0 && c.Unknown() { // nobody is known to have it, and l may have it yet
			err = l.unanswered(c)
			return
		}
		if c.Slow() {
			err = &Error{
				Code: CodeUnavailable, Lock: l.name, RetryAfter: time.Second,
				Detail: "the store takes longer to grant the lock than its lease lasts; ask for a longer ttl (lock.ttl)",
			}
			return
		}
		err.Detail = "others wait for the lock and come first"
	})
	return err
}

// unanswered is why l is refused where the store has not said who has the name.
func (l *Lease) unanswered(c *contender.Contender) *Error {
	if trouble := l.n.Trouble(); trouble != nil && !c.Unknown() {
		return unavailable(l.name, trouble)
	}
	return &Error{
		Code: CodeOutcomeUnknown, Lock: l.name, RetryAfter: time.Second,
		Detail: "the store gave no answer in time; nothing is held, and what the store may have granted is being undone",
	}
}

func unavailable(lock string, trouble error) *Error {
	return &Error{Code: CodeUnavailable, Lock: lock, RetryAfter: retryAfter(trouble), Detail: trouble.Error()}
}

// retryAfter is when to ask a store again that has answered err.
func retryAfter(err error) time.Duration {
	return cmp.Or(RetryAfterOf(err), time.Second)
}

// position of l, which waits or would wait; 1 is next. Callers of other nodes whose node
// stands before this one are counted as of when that node last wrote.
func (l *Lease) position(c *contender.Contender) int {
	n := len(c.Waiting()) + 1
	for i, w := range c.Waiting() {
		if w == &l.c {
			n = i + 1
			break
		}
	}
	for _, e := range c.Record().Queue {
		if e.Node == l.m.store.Node() {
			break
		}
		n += max(e.Waiters, 1)
	}
	return n
}

// holderOf is who has the name, as far as this node knows without asking. It must not be
// changed: all who wait may have the same.
func (m *Manager) holderOf(c *contender.Contender, now time.Duration) *Holder {
	for _, w := range c.In() {
		if w.Holds() {
			return leaseOf(w).holderShown()
		}
	}
	for i, h := range c.Record().Holds {
		if h.Node != m.store.Node() && !h.Offered && h.End > now {
			return holderIn(&c.Record().Holds[i])
		}
	}
	return nil
}

// sure: how things are for l is known. One that does not want to wait has to have an answer that
// is not older than its question.
func (l *Lease) sure(c *contender.Contender) bool {
	if l.wasLate() {
		return c.KnownLate(&l.c)
	}
	return c.Known(&l.c)
}

func (l *Lease) wasLate() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.late
}
