package servers

import (
	"cmp"
	"context"
	"maps"
	"slices"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
)

// watch is a channel that somebody wants to hear.
type watch struct {
	f    func()
	refs int
}

// Watch subscribes to channel until unwatch is called as often as watch was. f is
// called once the subscription stands, so that the caller can look again for what
// it may have missed, and at each message. It may be called more often, also right
// after unwatch, and must not block. All who watch a channel pass an f that does
// the same.
func (h *subscriber) Watch(channel string, f func()) { h.count(channel, f, 1) }

// Unwatch ends one watch of channel; without one it does nothing.
func (h *subscriber) Unwatch(channel string) { h.count(channel, nil, -1) }

func (h *subscriber) count(channel string, f func(), n int) {
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
	backend.Signal(h.dirty)
}

// subscribe to the watched channels and to our own; once that is confirmed, all are.
func (h *subscriber) subscribe(ctx context.Context, ps *goredis.PubSub, channels []string) error {
	var plain []string
	for _, channel := range channels {
		how := h.watched.of(channel)
		if how.Plain() {
			plain = append(plain, channel)
		}
		if !how.Sharded() {
			continue
		}
		if err := ps.SSubscribe(ctx, channel); err != nil { // one each: they may be of different slots
			return err
		}
	}
	return ps.Subscribe(ctx, append(plain, h.channel)...)
}

// adjust brings the subscription in line with the watches. A channel that somebody
// new watches is subscribed to again, for Redis to confirm it again.
func (h *subscriber) adjust(ctx context.Context, ps *goredis.PubSub) error {
	h.mu.Lock()
	changed := slices.Collect(maps.Keys(h.changed))
	clear(h.changed)
	h.mu.Unlock()
	for _, channel := range changed {
		plain, sharded := ps.Unsubscribe, ps.SUnsubscribe
		if h.watcher(channel) != nil {
			plain, sharded = ps.Subscribe, ps.SSubscribe
		}
		how := h.watched.of(channel)
		if how.Plain() {
			if err := plain(ctx, channel); err != nil {
				return err
			}
		}
		if how.Sharded() {
			if err := sharded(ctx, channel); err != nil {
				return err
			}
		}
	}
	return nil
}

// moved: the slot of a channel has left this server. Should it have come back since,
// a new subscription is taken; otherwise Redis refuses that, and the subscriber starts anew.
func (h *subscriber) moved(channel string) {
	h.onLoss()
	h.mu.Lock()
	h.changed[channel] = true
	h.mu.Unlock()
	backend.Signal(h.dirty)
}

// watcher is nil if nobody watches channel.
func (h *subscriber) watcher(channel string) func() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.watches[channel]; w != nil {
		return w.f
	}
	return nil
}
