package socket

import (
	"sync"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/resp"
)

// pushKind is the first value of the pushes about holds.
const pushKind = "lockgw"

// alarmBuffer is how many events may wait for the one goroutine that passes them
// on. It never waits for a client.
const alarmBuffer = 1 << 14

// alarms tells clients that understand pushes when a hold of their session is in
// jeopardy or lost. One subscription serves all connections, because each
// subscription costs time for every event of this node.
type alarms struct {
	m       *session.Manager
	running sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	stopped bool
	sub     *session.Subscription
	conns   map[*conn]string              // session id
	members map[string]map[*conn]struct{} // by session id
}

func newAlarms(m *session.Manager) *alarms {
	return &alarms{m: m, conns: map[*conn]string{}, members: map[string]map[*conn]struct{}{}}
}

// add tells c about the holds of this session from now on, and about no others.
func (a *alarms) add(c *conn, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conns[c] == id {
		return
	}
	a.removeLocked(c)
	a.conns[c] = id
	if a.members[id] == nil {
		a.members[id] = map[*conn]struct{}{}
	}
	a.members[id][c] = struct{}{}
	if a.sub == nil && !a.stopped {
		sub := a.subscribe()
		a.sub = sub
		a.running.Go(func() { a.deliver(sub) })
	}
}

func (a *alarms) remove(c *conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.removeLocked(c)
}

func (a *alarms) removeLocked(c *conn) {
	id, ok := a.conns[c]
	if !ok {
		return
	}
	delete(a.conns, c)
	delete(a.members[id], c)
	if len(a.members[id]) == 0 {
		delete(a.members, id)
	}
}

func (a *alarms) subscribe() *session.Subscription {
	return a.m.Subscribe(alarmBuffer, func(e session.Event) bool {
		return e.Type == session.EventLost || e.Type == session.EventJeopardy
	})
}

func (a *alarms) deliver(sub *session.Subscription) {
	for e := range sub.C {
		a.tell(*e)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sub = nil
	if a.stopped {
		return
	}
	// Events were dropped, and some client may go on believing in a hold that is
	// over. A closed connection tells every one of them.
	for c := range a.conns {
		c.nc.Close()
	}
}

func (a *alarms) tell(e session.Event) {
	w := resp.Writer{RESP3: true}
	w.Push(5)
	w.Bulk(pushKind)
	w.Bulk(string(e.Type))
	w.Bulk(e.Lock)
	w.Int(int64(e.Fence))
	w.Bulk(e.Reason)
	a.mu.Lock()
	defer a.mu.Unlock()
	for c := range a.members[e.Session] {
		c.out.add(w.Bytes())
		a.running.Go(c.out.flush) // not here: this client may not read
	}
}

func (a *alarms) stop() {
	a.mu.Lock()
	a.stopped = true
	sub := a.sub
	a.mu.Unlock()
	if sub != nil {
		sub.Close()
	}
	a.running.Wait()
}
