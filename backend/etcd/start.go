package etcd

import (
	"context"
	"fmt"
	"sync"

	"github.com/lockgw/lockgw/backend"
)

// start is whether this node listens, or has: before, what is written because of it may
// send messages to it that nobody hears.
type start struct {
	mu      sync.Mutex // guards the fields below
	done    bool
	err     error         // why it does not; nil: it does, or it is nothing to speak of
	soon    bool          // it will in a moment
	changed chan struct{} // closed when one of them changes
	kick    chan struct{} // has an element when the node is to begin anew to listen
}

// failed: the node could not begin to listen, because of err, and requests fail.
func (s *start) failed(err error) { s.set(false, err, false) }

// again: the node does not listen any more, and who asks waits until it does. It did for so
// short a time because of err; nil: it did not.
func (s *start) again(err error) { s.set(false, err, true) }

func (s *start) ready() {
	select {
	case <-s.kick: // which was about what the node listened to before
	default:
	}
	s.set(true, nil, false)
}

func (s *start) set(done bool, err error, soon bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done, s.err, s.soon = s.done || done, err, soon
	close(s.changed)
	s.changed = make(chan struct{})
}

// lost: what the node listens to is not as it was.
func (s *start) lost() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = false
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// wait waits for it. What it returns says that nothing was sent.
func (s *start) wait(ctx context.Context) error {
	for {
		s.mu.Lock()
		done, err, soon, changed := s.done, s.err, s.soon, s.changed
		s.mu.Unlock()
		switch {
		case done:
			return nil
		case err != nil && !soon:
			return unsent(err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return backend.ErrUnreachable
		}
	}
}

// trouble is why this node does not hear others; nil: it does, or does not try.
func (s *start) trouble() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		return nil
	}
	return fmt.Errorf("%w: messages of other gateways do not arrive: %w", backend.ErrUnavailable, s.err)
}
