package redis

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const (
	probePeriod  = 2 * time.Second
	probeTimeout = 1500 * time.Millisecond
	probePrefix  = "p " // no other message to a node's own channel begins so
	minBackoff   = 50 * time.Millisecond
	maxBackoff   = time.Second
)

// hub listens, on one connection, to this node's own channel and to those that
// are watched for a while.
//
// A subscription can be dead while TCP is well, and the other way round, and the
// client library notices neither. So the hub sends itself a message every period
// and makes a new connection when one does not come back within timeout. What was
// published meanwhile is lost: onResync says when to ask again.
type hub struct {
	client          *goredis.Client
	channel         string
	log             *slog.Logger
	period, timeout time.Duration // of probes; timeout is also of a new subscription
	onMessage       func(payload string)
	onResync        func()

	cancel context.CancelFunc
	wg     sync.WaitGroup
	dirty  chan struct{} // cap 1: changed is not empty

	mu      sync.Mutex // guards the fields below
	watches map[string]*watch
	changed map[string]bool // channels that adjust has to look at
	proven  time.Time       // when a message last was known to arrive
	failing bool            // the last connection or attempt at one has failed
}

// watch is a channel that somebody wants to hear.
type watch struct {
	f    func()
	refs int
}

// newHub makes a hub that publishes by client and subscribes on a connection of
// its own with client's options. It does nothing before start.
func newHub(client *goredis.Client, channel string, log *slog.Logger) *hub {
	return &hub{
		client: client, channel: channel, log: log, period: probePeriod, timeout: probeTimeout,
		cancel: func() {}, dirty: make(chan struct{}, 1),
		watches: map[string]*watch{}, changed: map[string]bool{},
	}
}

// start subscribes, now and whenever the connection was lost, until Close.
// onMessage gets each payload of the node's own channel but the probes, onResync is
// called each time that channel was subscribed to; neither may block.
func (h *hub) start(onMessage func(payload string), onResync func()) {
	h.onMessage, h.onResync = onMessage, onResync
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	h.wg.Go(func() { h.run(ctx) })
}

// healthy: messages published now will arrive, as far as the last probe tells.
func (h *hub) healthy() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.failing && time.Since(h.proven) < h.period+h.timeout
}

// probeAge is how long ago messages were last known to arrive; very long if never.
func (h *hub) probeAge() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Since(h.proven)
}

// watch subscribes to channel until unwatch is called as often as watch was. f is
// called once the subscription stands, so that the caller can look again for what
// it may have missed, and at each message. It may be called more often, also right
// after unwatch, and must not block. All who watch a channel pass an f that does
// the same.
func (h *hub) watch(channel string, f func()) { h.count(channel, f, 1) }

// unwatch ends one watch of channel; without one it does nothing.
func (h *hub) unwatch(channel string) { h.count(channel, nil, -1) }

func (h *hub) count(channel string, f func(), n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := cmp.Or(h.watches[channel], &watch{f: f})
	if w.refs += n; w.refs < 0 {
		return
	}
	h.watches[channel] = w
	if w.refs == 0 {
		delete(h.watches, channel)
	}
	h.changed[channel] = true
	select {
	case h.dirty <- struct{}{}:
	default:
	}
}

// Close ends the subscription and waits for it; no callback runs afterwards.
func (h *hub) Close() {
	h.cancel()
	h.wg.Wait()
}

// run keeps one connection after the other.
func (h *hub) run(ctx context.Context) {
	backoff := minBackoff
	for {
		err := h.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		if h.note(false) {
			backoff = minBackoff
			h.log.Warn("no wake-up messages from Redis; until they are back, waiters are served by timers", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(backoff/2 + mathrand.N(backoff/2)): // many nodes lose the same Redis at once
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// serve subscribes on a new connection and returns why it is of no use any more.
func (h *hub) serve(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	h.mu.Lock()
	clear(h.changed)
	channels := append(slices.Collect(maps.Keys(h.watches)), h.channel) // once the last is confirmed, all are
	h.mu.Unlock()
	var reader sync.WaitGroup
	defer reader.Wait()
	ps := h.client.Subscribe(ctx) // connects with the first channel
	defer ps.Close()              // makes read return
	if err := ps.Subscribe(ctx, channels...); err != nil {
		return err
	}
	echoes := make(chan string, 1)
	reader.Go(func() { fail(h.read(ctx, ps, echoes)) })
	return h.keep(ctx, ps, echoes)
}

// keep proves and adjusts a subscription until ctx is done, by read as a rule.
func (h *hub) keep(ctx context.Context, ps *goredis.PubSub, echoes <-chan string) error {
	if err := h.prove(ctx, "", echoes); err != nil {
		return err
	}
	h.onResync()
	ticker := time.NewTicker(h.period)
	defer ticker.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-h.dirty:
			err = h.adjust(ctx, ps)
		case <-ticker.C:
			err = h.prove(ctx, rand.Text(), echoes)
		}
		if err != nil {
			return err
		}
	}
}

// note keeps whether the subscription works and tells whether that is news.
func (h *hub) note(works bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	news := h.failing == works
	h.failing = !works
	if works {
		h.proven = time.Now()
	}
	return news
}

// prove waits until the hub hears from itself: nonce, which it sends, or "", which
// stands for the answer to SUBSCRIBE.
func (h *hub) prove(ctx context.Context, nonce string, echoes <-chan string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, h.timeout, errors.New("no message came back in time"))
	defer cancel()
	if nonce != "" {
		heard, err := h.client.Publish(ctx, h.channel, probePrefix+nonce).Result()
		if err != nil {
			return fmt.Errorf("publish to %s: %w", h.channel, err)
		}
		if heard == 0 {
			return errors.New("redis has lost the subscription")
		}
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case echo := <-echoes:
			if echo == nonce {
				if h.note(true) {
					h.log.Info("wake-up messages from Redis are back")
				}
				return nil
			}
		}
	}
}

// adjust brings the subscription in line with the watches. A channel that somebody
// new watches is subscribed to again, for Redis to confirm it again.
func (h *hub) adjust(ctx context.Context, ps *goredis.PubSub) error {
	h.mu.Lock()
	changed := slices.Collect(maps.Keys(h.changed))
	clear(h.changed)
	h.mu.Unlock()
	for _, channel := range changed {
		command := ps.Unsubscribe
		if h.watcher(channel) != nil {
			command = ps.Subscribe
		}
		if err := command(ctx, channel); err != nil {
			return err
		}
	}
	return nil
}

// read takes what arrives until the connection ends. It has no deadline of its own:
// probe sees silence, and a deadline that strikes within a message loses the rest.
func (h *hub) read(ctx context.Context, ps *goredis.PubSub, echoes chan string) error {
	for {
		received, err := ps.Receive(ctx)
		if err != nil {
			return err
		}
		switch m := received.(type) {
		case *goredis.Subscription: // or its end, which at most calls a watcher for nothing
			h.deliver(m.Channel, probePrefix, echoes)
		case *goredis.Message:
			h.deliver(m.Channel, m.Payload, echoes)
		}
	}
}

// deliver hands on a message. Anybody can forge one: a wrong echo is not what await
// waits for, and any other message only ever causes a request.
func (h *hub) deliver(channel, payload string, echoes chan string) {
	if channel != h.channel {
		if f := h.watcher(channel); f != nil {
			f()
		}
		return
	}
	echo, ok := strings.CutPrefix(payload, probePrefix)
	if !ok {
		h.onMessage(payload)
		return
	}
	select {
	case <-echoes: // an older one
	default:
	}
	echoes <- echo
}

// watcher is nil if nobody watches channel.
func (h *hub) watcher(channel string) func() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.watches[channel]; w != nil {
		return w.f
	}
	return nil
}
