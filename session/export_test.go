package session

import "context"

// Hold keeps s busy until free is called.
func (s *Session) Hold() (free func()) {
	s.mu.Lock()
	return s.mu.Unlock
}

// ReleaseLast is a release whose caller has seen one entry; false: there are more.
func (l *Lease) ReleaseLast() bool {
	errand, err := l.endUnless(true, "", nil)
	errand.Launch()
	return err == nil
}

// BreakSeen is a break whose caller has seen the hold.
func (l *Lease) BreakSeen(ctx context.Context) error { return l.breakNow(ctx) }
