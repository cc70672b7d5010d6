package contender

import (
	"slices"

	"github.com/lockgw/lockgw/backend"
)

// queue is the callers of one node that wait, first come first. All of them use the name
// as the same kind. What is asked of it at each event takes constant time, however many
// they are, but for apart.
type queue struct {
	ws      []*Caller
	noWait  int // those that do not want to wait
	alone   int // those that are to have the name alone
	unasked int // those that came after the last request was sent
	curious int // those that are to hear that they have to wait, and have not
}

func (q *queue) len() int      { return len(q.ws) }
func (q *queue) head() *Caller { return q.ws[0] }

// apart is when the first one came who cannot come in together with the head, which does not
// want the name alone; 0: there is none.
func (q *queue) apart() int64 {
	switch head := q.head(); {
	case head.Mode.Limit() > 0 && len(q.ws) > 1:
		return q.ws[1].came
	case head.Mode == backend.Shared && q.alone > 0:
		return q.ws[slices.IndexFunc(q.ws, func(w *Caller) bool { return w.Mode == backend.Exclusive })].came
	default:
		return 0
	}
}

func (q *queue) push(w *Caller) {
	q.ws = append(q.ws, w)
	q.count(w, 1)
}

// pushFront puts back one who was let in and not told.
func (q *queue) pushFront(w *Caller) {
	q.ws = slices.Insert(q.ws, 0, w)
	q.count(w, 1)
}

func (q *queue) pop() *Caller {
	w := q.ws[0]
	q.ws = q.ws[1:]
	q.count(w, -1)
	return w
}

func (q *queue) remove(w *Caller) {
	if i := slices.Index(q.ws, w); i >= 0 {
		q.ws = slices.Delete(q.ws, i, i+1)
		q.count(w, -1)
	}
}

func (q *queue) count(w *Caller, d int) {
	if w.NoWait {
		q.noWait += d
	}
	if w.Mode == backend.Exclusive {
		q.alone += d
	}
	if !w.asked {
		q.unasked += d
	}
	if w.Curious && !w.queued {
		q.curious += d
	}
}

// hurry: w does not want to wait any more.
func (q *queue) hurry(w *Caller) {
	q.count(w, -1)
	w.NoWait = true
	q.count(w, 1)
}

// sent: a request goes out, whose answer is for all who wait now.
func (q *queue) sent() {
	for i := len(q.ws) - 1; i >= 0 && q.unasked > 0; i-- { // the last who came are those
		if w := q.ws[i]; !w.asked {
			w.asked = true
			q.unasked--
		}
	}
}

// answered: the store has answered those who had asked.
func (q *queue) answered() {
	for _, w := range q.ws {
		w.seen = w.seen || w.asked
	}
}
