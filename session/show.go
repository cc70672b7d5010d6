package session

import (
	"time"

	"github.com/lockgw/lockgw/session/contender"
	"github.com/lockgw/lockgw/session/journal"
)

// Show says which process the holds of the session belong to, for people: a session
// may be opened by a helper that ends at once, as curl does, or live by one that nobody
// knows. It gives no right and is no proof of life. One that lives by a process is
// shown as that from the start.
func (s *Session) Show(p Process) {
	s.shown.Store(p.peer())
	s.m.cfg.Journal.Shown(s.id, journal.Peer(*p.peer()))
	for _, l := range s.Leases() {
		l.show()
	}
}

func (p Process) peer() *Peer { return &Peer{PID: p.PID, UID: p.UID, Command: p.Command} }

// belongTo makes h a holder of s: the process that is shown, and beside it the one that
// has opened the session if that is another.
func (h *Holder) belongTo(s *Session) {
	h.Peer, h.AskedBy = s.o.Peer, nil
	shown := s.shown.Load()
	if shown == nil || shown.PID == h.PID {
		return
	}
	if by := s.o.Peer; by.PID != 0 {
		h.AskedBy = &by
	}
	h.Peer = *shown
}

// show has l, and the store, tell whose hold it is now.
func (l *Lease) show() {
	l.mu.Lock()
	l.holder.belongTo(l.s)
	l.shown = nil
	about := l.holder.record()
	l.mu.Unlock()
	_ = l.see(func(*contender.Contender, time.Duration) {
		l.c.About = about
		l.record(Step{Kind: StepResumed})
	})
	l.n.Describe()
}
