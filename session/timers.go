package session

import (
	"container/heap"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend/boottime"
)

// timers calls each place when something is due there. It has one alarm for all of them,
// on the clock of the deadlines: a timer of Go's stands still while the machine sleeps,
// and would tell a loss that much later.
type timers struct {
	m     *Manager
	alarm *boottime.Alarm
	quit  chan struct{}
	once  sync.Once // of its closing

	mu   sync.Mutex // guards the fields below and place.timer; it may be locked under place.mu
	due  schedule
	next time.Duration // when the alarm goes off; 0: it will not
}

// entry is where a place stands in the schedule.
type entry struct {
	at    time.Duration
	index int // from 1 on; 0: not in it
}

func (t *timers) start(m *Manager) {
	t.m, t.alarm, t.quit = m, m.cfg.alarm(), make(chan struct{})
	m.wg.Go(t.run)
}

func (t *timers) stop() {
	t.once.Do(func() {
		close(t.quit)
		_ = t.alarm.Close()
	})
}

func (t *timers) run() {
	for {
		select {
		case <-t.alarm.C:
		case <-t.quit:
			return
		}
		for _, p := range t.passed() {
			p.tick()
		}
	}
}

// passed takes out the places whose time has come, and sets the alarm for the next.
func (t *timers) passed() (ps []*place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.m.cfg.Clock()
	for len(t.due) > 0 && t.due[0].timer.at <= now {
		ps = append(ps, heap.Pop(&t.due).(*place))
	}
	if t.next = 0; len(t.due) > 0 {
		t.wake(t.due[0].timer.at)
	}
	return ps
}

// set has p called at that time, and not at the one set before.
func (t *timers) set(p *place, at time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.timer.at = at; p.timer.index > 0 {
		heap.Fix(&t.due, p.timer.index-1)
	} else {
		heap.Push(&t.due, p)
	}
	t.wake(t.due[0].timer.at)
}

// wake sets the alarm, unless it goes off before: that is cheaper than to set it for each.
func (t *timers) wake(at time.Duration) {
	if t.next == 0 || at < t.next {
		t.next = at
		t.alarm.Set(at)
	}
}

func (t *timers) remove(p *place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.timer.index > 0 {
		heap.Remove(&t.due, p.timer.index-1)
	}
}

// schedule is a heap of places, by when they are due.
type schedule []*place

func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].timer.at < s[j].timer.at }

func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].timer.index, s[j].timer.index = i+1, j+1
}

func (s *schedule) Push(x any) {
	p := x.(*place)
	*s = append(*s, p)
	p.timer.index = len(*s)
}

func (s *schedule) Pop() any {
	old := *s
	p := old[len(old)-1]
	old[len(old)-1] = nil
	*s, p.timer.index = old[:len(old)-1], 0
	return p
}
