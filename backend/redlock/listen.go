package redlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	probePeriod = 2 * time.Second
	silence     = 5 * time.Second // after which a subscription counts as dead
	minBackoff  = 50 * time.Millisecond
	maxBackoff  = time.Second
)

// listener hears what one node sends to this gateway.
//
// A subscription can be dead while TCP is well, and the other way round, and the
// client library notices neither. So the listener sends itself a message every
// period, and subscribes anew when it hears nothing.
type listener struct {
	node    *node
	channel string
	message func(payload string)
	resync  func() // messages may have been lost
}

const probe = "p"

// run subscribes, now and whenever the subscription was lost, until ctx is done.
func (l *listener) run(ctx context.Context) {
	backoff, warned := minBackoff, false
	for ctx.Err() == nil {
		err := l.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		if l.node.memory.heard(false) || !warned {
			backoff, warned = minBackoff, true
			l.node.log.Warn("no messages from a Redis of the quorum", "addr", l.node.addr, "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(backoff/2 + rand.N(backoff/2)): // many gateways lose the same Redis at once
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// serve listens on a new connection until it is of no use any more.
func (l *listener) serve(ctx context.Context) error {
	ps := l.node.client.Subscribe(ctx)
	defer ps.Close()
	if err := ps.Subscribe(ctx, l.channel); err != nil {
		return err
	}
	if _, err := ps.ReceiveTimeout(ctx, silence); err != nil {
		return err
	}
	if err := l.node.examine(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	payloads := make(chan string)
	done := make(chan struct{})
	defer func() {
		cancel(nil)
		_ = ps.Close() // makes the reader return
		<-done
	}()
	go func() {
		defer close(done)
		for {
			m, err := ps.ReceiveMessage(ctx)
			if err != nil {
				cancel(err)
				return
			}
			select {
			case payloads <- m.Payload:
			case <-ctx.Done():
				return
			}
		}
	}()
	if l.node.memory.heard(true) {
		l.node.log.Info("a Redis of the quorum sends messages", "addr", l.node.addr)
	}
	l.resync()
	return l.keep(ctx, payloads)
}

// keep hands on what arrives, and proves that something does.
func (l *listener) keep(ctx context.Context, payloads <-chan string) error {
	ticker := time.NewTicker(probePeriod)
	defer ticker.Stop()
	heard := time.Now()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case p := <-payloads:
			if heard = time.Now(); p != probe {
				l.message(p)
			}
		case <-ticker.C:
			if time.Since(heard) > silence {
				return errors.New("no message came back in time")
			}
			if err := l.node.client.Publish(ctx, l.channel, probe).Err(); err != nil {
				return l.node.outcome(err)
			}
			if err := l.node.examine(ctx); err != nil {
				return err
			}
		}
	}
}
