package session

import "sync/atomic"

// queue is the callers of one node that wait for one name, first in, first out.
// It is a list through the leases themselves, so that one which gives up leaves
// in constant time. The zero value is empty.
type queue struct {
	first, last *Lease
	n           int
	noWait      int // those among them that want an answer now
	curious     int // those that want to hear that they have to wait
	// beside counts the callers in all queues of the name, where each has its own.
	beside *atomic.Int64
}

func (q *queue) push(l *Lease) {
	l.prev, l.next, l.queued = q.last, nil, true
	if q.last != nil {
		q.last.next = l
	} else {
		q.first = l
	}
	q.last = l
	q.count(l, 1)
}

// pushFront puts back one whose grant did not come about.
func (q *queue) pushFront(l *Lease) {
	l.prev, l.next, l.queued = nil, q.first, true
	if q.first != nil {
		q.first.prev = l
	} else {
		q.last = l
	}
	q.first = l
	q.count(l, 1)
}

func (q *queue) remove(l *Lease) {
	if !l.queued {
		return
	}
	if l.prev != nil {
		l.prev.next = l.next
	} else {
		q.first = l.next
	}
	if l.next != nil {
		l.next.prev = l.prev
	} else {
		q.last = l.prev
	}
	l.prev, l.next, l.queued = nil, nil, false
	q.count(l, -1)
}

// hurry makes a waiting l want an answer now.
func (q *queue) hurry(l *Lease) {
	if l.queued && !l.noWait {
		l.noWait = true
		q.noWait++
	}
}

func (q *queue) count(l *Lease, d int) {
	q.n += d
	if q.beside != nil {
		q.beside.Add(int64(d))
	}
	if l.noWait {
		q.noWait += d
	}
	if l.curious {
		q.curious += d
	}
}

// waiters of this node for the name. Of those who come at the same moment, a few may
// not be counted yet.
func (q *queue) waiters() int {
	if q.beside != nil {
		return int(q.beside.Load())
	}
	return q.n
}

// tellCurious wakes those who want to hear that they have to wait. They are the
// last who came.
func (q *queue) tellCurious() {
	for l := q.last; l != nil && q.curious > 0; l = l.prev {
		if l.curious {
			l.curious, l.announce = false, true
			q.curious--
			l.signal()
		}
	}
}

// position of l, 1 is next; 0 when it does not wait.
func (q *queue) position(l *Lease) int {
	i := 0
	for x := q.first; x != nil; x = x.next {
		if i++; x == l {
			return i
		}
	}
	return 0
}
