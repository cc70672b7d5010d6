//go:build !linux

package pgtest

// release does nothing: the tests that start servers run on Linux.
func (s *Server) release() {}
