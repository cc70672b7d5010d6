package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/lockgw/lockgw/backend"
)

// start has the present session, in which this node listens: before, what is written because
// of it may send messages to it that nobody hears.
type start struct {
	mu      sync.Mutex // guards the fields below
	session *session
	err     error         // of the last time that one was begun
	changed chan struct{} // closed when one of them changes
	kick    chan struct{} // has an element when a new session is to be begun
}

func (s *start) ready(n *session) { s.set(n, nil) }

// failed: there is no session, because of err; nil: there will be one in a moment, and who
// wants to write waits for it.
func (s *start) failed(err error) { s.set(nil, err) }

func (s *start) present() *session { s.mu.Lock(); defer s.mu.Unlock(); return s.session }

func (s *start) set(n *session, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session, s.err = n, err
	select {
	case <-s.kick: // which was about an earlier one
	default:
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// lost: the store is not as this node has left it, so that the session n is of no use.
func (s *start) lost(n *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session != n {
		return
	}
	s.session = nil
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// wait waits for a session. What it returns says that nothing was sent.
func (s *start) wait(ctx context.Context) (*session, error) {
	for {
		s.mu.Lock()
		n, err, changed := s.session, s.err, s.changed
		s.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return nil, backend.NotSent("given up before it was sent to ZooKeeper: " + ctx.Err().Error())
		case n != nil:
			return n, nil
		case err != nil:
			return nil, unasked(err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, backend.ErrUnreachable
		}
	}
}

// trouble is why this node has no session; nil: it has one, or does not try.
func (s *start) trouble() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		return nil
	}
	if errors.Is(s.err, backend.ErrRefused) {
		return s.err
	}
	return fmt.Errorf("%w: messages of other gateways do not arrive: %w", backend.ErrUnavailable, s.err)
}
