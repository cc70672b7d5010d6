package session

import (
	"context"
	"time"
)

// Retire ends the session in a while, unless it holds or waits for something then.
// Until then it answers repeats of what it was asked.
func (s *Session) Retire(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && len(s.holds)+len(s.waiting) == 0 {
		s.timer = time.AfterFunc(repeatGrace, func() { s.retired(reason) })
	}
}

func (s *Session) retired(reason string) {
	s.mu.Lock()
	busy := len(s.holds)+len(s.waiting) > 0
	s.mu.Unlock()
	if !busy {
		s.closeSoon(reason)
	}
}

// over is told by a place that l ended. It may be called under place.mu.
func (s *Session) over(l *Lease, e EventType, reason string) {
	k := holdKey{l.name, l.thread}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds[k] == l {
		delete(s.holds, k)
	}
	if e == EventLost {
		s.keepLost(k, l.err)
	}
	if !s.o.OneLock || s.closed || len(s.holds) > 0 || s.gathering > 0 {
		return
	}
	switch {
	case e == EventLost:
		s.timer = time.AfterFunc(lostGrace, func() { s.closeSoon("its lock was lost (" + reason + ")") })
	case len(s.replays) > 0:
		s.spent = true
		s.m.cfg.Journal.Spent(s.id)
		s.timer = time.AfterFunc(repeatGrace, func() { s.closeSoon(releasedReason) })
	default:
		s.m.wg.Go(func() { s.closeSoon(releasedReason) })
	}
}

func (s *Session) keepLost(k holdKey, err *Error) {
	if len(s.lost) >= s.m.cfg.Limits.HoldsPerSession {
		for old := range s.lost {
			delete(s.lost, old)
			break
		}
	}
	s.lost[k] = err
}

// Close ends the session: its waits end with CodeSessionEnded and its holds are
// released. It returns the names it has released and waits, until ctx is done,
// for the store to confirm. reason is for people.
func (s *Session) Close(ctx context.Context, reason string) []string {
	return s.close(ctx, reason, false)
}

func (s *Session) closeSoon(reason string) {
	ctx, cancel := context.WithTimeout(context.Background(), s.m.cfg.Timeout)
	defer cancel()
	s.Close(ctx, reason)
}

// close is Close; with keep the holds are left to their leases.
func (s *Session) close(ctx context.Context, reason string, keep bool) []string {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	why := endedError(reason)
	if keep {
		why = s.m.drainingError("") // the next process has it
	}
	s.cancel(why) // from here on Err tells
	leases := make([]*Lease, 0, len(s.holds))
	for _, l := range s.holds {
		leases = append(leases, l)
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	s.m.remove(s, why)
	if keep {
		return nil
	}
	s.m.cfg.Journal.Closed(s.id)
	names := releaseAll(ctx, leases, reason)
	s.m.publish(Event{Type: EventSessionEnded, Session: s.id, Reason: reason})
	return names
}

// releaseAll ends the leases and waits for the store until ctx is done.
func releaseAll(ctx context.Context, leases []*Lease, reason string) []string {
	var names []string
	var waits []<-chan struct{}
	for _, l := range leases {
		pending, err := l.p.giveUp(l, reason)
		if err == nil {
			names = append(names, l.name)
		}
		if pending != nil {
			waits = append(waits, pending)
		}
	}
	for _, w := range waits {
		select {
		case <-w:
		case <-ctx.Done():
			return names
		}
	}
	return names
}
