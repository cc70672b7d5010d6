package session

// Hold keeps s busy until free is called.
func (s *Session) Hold() (free func()) {
	s.mu.Lock()
	return s.mu.Unlock
}
