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
	err     error         // of the last time that it was tried
	changed chan struct{} // closed when one of them changes
	kick    chan struct{} // has an element when the node is to begin anew to listen
}

// failed: the node could not begin to listen, because of err; nil: it will in a moment, and
// who wants to write waits for it.
func (s *start) failed(err error) { s.set(false, err) }

func (s *start) ready() {
	select {
	case <-s.kick: // which was about what the node listened to before
	default:
	}
	s.set(true, nil)
}

func (s *start) set(done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done, s.err = s.done || done, err
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
		done, err, changed := s.done, s.err, s.changed
		s.mu.Unlock()
		switch {
		case done:
			return nil
		case err != nil:
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
