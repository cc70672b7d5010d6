package redlock

import (
	"context"
	"slices"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
)

// A holder outside lockgw does not know the marks of those who wait. A program with
// Redisson, which has an RLock on each node, publishes a release on a channel of the
// name; so as long as somebody waits for such a holder, every listener listens there.

// watch notes whether r waits for a holder outside lockgw.
func (b *Backend) watch(r backend.Request, foreign bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := placeOf(r)
	if b.foreign[at] == foreign {
		return
	}
	if foreign {
		b.foreign[at] = true
	} else {
		delete(b.foreign, at)
	}
	for _, l := range b.listeners {
		select {
		case l.changed <- struct{}{}:
		default:
		}
	}
}

// watched is the channels on which to listen now. Who waits no more is forgotten.
func (b *Backend) watched() channels {
	b.mu.Lock()
	defer b.mu.Unlock()
	wanted := channels{}
	for at := range b.foreign {
		if _, waits := b.waits[at]; waits {
			wanted[b.announces(at.name)] = true
		} else {
			delete(b.foreign, at)
		}
	}
	return wanted
}

// announces is the channel on which a program with Redisson tells of its release.
func (b *Backend) announces(name string) string { return keysOf(b.cfg.KeyPrefix + name).channel }

// freed has those ask again who wait for a holder outside lockgw and listen on
// channel. Each node tells of its own release, and a majority has to be free: no
// message is one too many.
func (b *Backend) freed(channel string) {
	b.mu.Lock()
	var ask []place
	for at := range b.foreign {
		if _, waits := b.waits[at]; waits && b.announces(at.name) == channel {
			ask = append(ask, at)
		}
	}
	b.mu.Unlock()
	for _, at := range ask {
		b.hint(backend.Hint{Kind: backend.HintFree, Name: at.name, Slot: at.slot})
	}
}

// oneForeigner has all holders outside lockgw count as one: Redisson's lock over
// several servers has another owner on each, and nobody is granted a name while
// foreigners, however many, have a majority.
func oneForeigner(views []view) []view {
	first := slices.IndexFunc(views, func(v view) bool { return v.Foreign })
	seen := ""
	for _, v := range views {
		seen += v.Seen
	}
	for i := range views {
		if views[i].Foreign {
			views[i].Owner, views[i].Seen = views[first].Owner, seen
		}
	}
	return views
}

// channels on which a listener listens besides its own.
type channels map[string]bool

// adjust subscribes where somebody waits for a release, and no longer where nobody
// does. Redis confirms a new one by an event, upon which the waiter asks again: the
// release may have come before.
func (c channels) adjust(ctx context.Context, ps *goredis.PubSub, wanted channels) error {
	for channel := range wanted {
		if !c[channel] {
			if err := ps.Subscribe(ctx, channel); err != nil {
				return err
			}
			c[channel] = true
		}
	}
	for channel := range c {
		if !wanted[channel] {
			if err := ps.Unsubscribe(ctx, channel); err != nil {
				return err
			}
			delete(c, channel)
		}
	}
	return nil
}
