package redlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	goredis "github.com/redis/go-redis/v9"
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
	watched func() channels
	freed   func(channel string) // a holder outside lockgw has released, perhaps
	changed chan struct{}        // cap 1: watched has
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
	events := make(chan event)
	done := make(chan struct{})
	defer func() {
		cancel(nil)
		_ = ps.Close() // makes the reader return
		<-done
	}()
	go func() {
		defer close(done)
		cancel(read(ctx, ps, events))
	}()
	if l.node.memory.heard(true) {
		l.node.log.Info("a Redis of the quorum sends messages", "addr", l.node.addr)
	}
	l.resync()
	return l.keep(ctx, ps, events)
}

// event is a message, or with an empty payload what became of a subscription.
type event struct{ channel, payload string }

// read takes what arrives until the connection ends.
func read(ctx context.Context, ps *goredis.PubSub, events chan<- event) error {
	for {
		received, err := ps.Receive(ctx)
		if err != nil {
			return err
		}
		var e event
		switch m := received.(type) {
		case *goredis.Message:
			e = event{m.Channel, m.Payload}
		case *goredis.Subscription:
			e.channel = m.Channel
		}
		select {
		case events <- e:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// keep hands on what arrives, and proves that something does.
func (l *listener) keep(ctx context.Context, ps *goredis.PubSub, events <-chan event) error {
	ticker := time.NewTicker(probePeriod)
	defer ticker.Stop()
	heard, listens := time.Now(), channels{}
	for adjust := true; ; {
		if adjust {
			if err := listens.adjust(ctx, ps, l.watched()); err != nil {
				return err
			}
		}
		adjust = true
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-l.changed:
		case e := <-events:
			adjust = false
			heard = time.Now()
			l.take(e)
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

func (l *listener) take(e event) {
	switch {
	case e.channel != l.channel:
		l.freed(e.channel)
	case e.payload != probe:
		l.message(e.payload)
	}
}
