package engine

import (
	"container/heap"
	"sync"
	"time"
)

// timers calls each name when something is due there. It has one alarm for all of them,
// on the clock of the deadlines: a timer of Go's stands still while the machine sleeps,
// and would tell a loss that much later.
type timers struct {
	e    *Engine
	quit chan struct{}
	once sync.Once // of its closing

	mu   sync.Mutex // guards the fields below and name.due; it may be locked under name.mu
	heap schedule
	next time.Duration // when the alarm goes off; 0: it will not
}

// slot is where a name stands in the schedule.
type slot struct {
	at    time.Duration
	index int // from 1 on; 0: not in it
}

func (t *timers) start(e *Engine) {
	t.e, t.quit = e, make(chan struct{})
	e.wg.Go(t.run)
}

func (t *timers) stop() {
	t.once.Do(func() {
		close(t.quit)
		_ = t.e.cfg.Alarm.Close()
	})
}

func (t *timers) run() {
	for {
		select {
		case <-t.e.cfg.Alarm.C:
		case <-t.quit:
			return
		}
		for _, n := range t.passed() {
			n.Tick()
		}
	}
}

// passed takes out the names whose time has come, and sets the alarm for the next.
func (t *timers) passed() (ns []*Name) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.e.cfg.Clock()
	for len(t.heap) > 0 && t.heap[0].due.at <= now {
		ns = append(ns, heap.Pop(&t.heap).(*Name))
	}
	if t.next = 0; len(t.heap) > 0 {
		t.wake(t.heap[0].due.at)
	}
	return ns
}

// set has n called at that time, and not at the one set before; 0: never.
func (t *timers) set(n *Name, at time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case at == 0 && n.due.index > 0:
		heap.Remove(&t.heap, n.due.index-1)
	case at == 0:
	case n.due.index > 0:
		if n.due.at != at {
			n.due.at = at
			heap.Fix(&t.heap, n.due.index-1)
		}
	default:
		n.due.at = at
		heap.Push(&t.heap, n)
	}
	if len(t.heap) > 0 {
		t.wake(t.heap[0].due.at)
	}
}

// wake sets the alarm, unless it goes off before: that is cheaper than to set it for each.
func (t *timers) wake(at time.Duration) {
	if t.next == 0 || at < t.next {
		t.next = at
		t.e.cfg.Alarm.Set(at)
	}
}

// schedule is a heap of names, by when they are due.
type schedule []*Name

func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].due.at < s[j].due.at }

func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].due.index, s[j].due.index = i+1, j+1
}

// Push implements heap.Interface.
func (s *schedule) Push(x any) {
	n := x.(*Name)
	*s = append(*s, n)
	n.due.index = len(*s)
}

// Pop implements heap.Interface.
func (s *schedule) Pop() any {
	old := *s
	n := old[len(old)-1]
	old[len(old)-1] = nil
	*s, n.due.index = old[:len(old)-1], 0
	return n
}
