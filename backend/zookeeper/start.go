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
	err     error         // why there is none; nil: there is one, or it is nothing to speak of
	soon    bool          // there will be another in a moment
	changed chan struct{} // closed when one of them changes
	kick    chan struct{} // has an element when a new session is to be begun
}

func (s *start) ready(n *session) { s.set(n, nil, false) }

// failed: a session could not be begun, because of err, and requests fail.
func (s *start) failed(err error) { s.set(nil, err, false) }

// again: the session is over, and who asks waits for the next one. It lasted so short because
// of err; nil: it did not.
func (s *start) again(err error) { s.set(nil, err, true) }

func (s *start) present() *session { s.mu.Lock(); defer s.mu.Unlock(); return s.session }

func (s *start) set(n *session, err error, soon bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session, s.err, s.soon = n, err, soon
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
		n, err, soon, changed := s.session, s.err, s.soon, s.changed
		s.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return nil, backend.NotSent("given up before it was sent to ZooKeeper: " + ctx.Err().Error())
		case n != nil:
			return n, nil
		case err != nil && !soon:
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
