package redis

import (
	"context"
	"log/slog"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// hubs listens on every master of a cluster, by a hub each. A script can tell from
// PUBLISH whether a node listens only on the server that runs it, and any server may
// come to run the next. Redis hands each message on to all servers, so that it comes
// by all hubs, of which the first to bring it counts. A channel that is watched is
// subscribed to where its slot is, because SPUBLISH is heard nowhere else, and neither
// is what a server tells of its keys.
//
// It looks for masters each period of the hubs' probes, and at once when a hub or a
// request found a server gone or a slot moved. A hub that is new ends with a resync,
// as one does that is subscribed again.
type hubs struct {
	servers servers
	channel string
	watched publishing
	log     *slog.Logger
	period  time.Duration

	onMessage func(payload string)
	onResync  func()
	cancel    context.CancelFunc
	wg        sync.WaitGroup
	again     chan struct{} // cap 1: the masters may be others
	dirty     chan struct{} // cap 1: watches have changed
	doubles   doubles

	mu      sync.Mutex // guards the fields below
	hubs    map[*goredis.Client]*member
	known   bool // the masters were found the last time
	watches map[string]*spread
}

// member is the hub of a master.
type member struct {
	*hub
	missed int // how often in a row it was no master
}

// spread is a channel that is watched, and by which hub.
type spread struct {
	watch
	at *member // nil: none yet
}

// maxMissed: one server's view of the cluster may be old for a moment.
const maxMissed = 3

const lookPause = 200 * time.Millisecond

func newHubs(s servers, channel string, watched publishing, log *slog.Logger) *hubs {
	return &hubs{
		servers: s, channel: channel, watched: watched, log: log, period: probePeriod, cancel: func() {},
		again: make(chan struct{}, 1), dirty: make(chan struct{}, 1),
		doubles: doubles{seen: map[string]*copies{}}, hubs: map[*goredis.Client]*member{}, watches: map[string]*spread{},
	}
}

// start is hub.start, for all.
func (h *hubs) start(onMessage func(payload string), onResync func()) {
	h.onMessage, h.onResync = onMessage, onResync
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	h.wg.Go(func() { h.run(ctx) })
}

func (h *hubs) hears(c *goredis.Client) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.hubs[c]
	return h.known && m != nil && m.healthy()
}

// probeAge is the longest of those of the masters.
func (h *hubs) probeAge() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.hubs) == 0 {
		return time.Since(time.Time{})
	}
	var oldest time.Duration
	for _, m := range h.hubs {
		if m.missed == 0 {
			oldest = max(oldest, m.probeAge())
		}
	}
	return oldest
}

// watch is hub.watch.
func (h *hubs) watch(channel string, f func()) { h.count(channel, f, 1) }

// unwatch is hub.unwatch.
func (h *hubs) unwatch(channel string) { h.count(channel, nil, -1) }

func (h *hubs) count(channel string, f func(), n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.watches[channel]
	if w == nil {
		w = &spread{watch: watch{f: f}}
		h.watches[channel] = w
	}
	w.refs = max(w.refs+n, 0)
	nudge(h.dirty)
}

// lookAgain has the masters looked for now.
func (h *hubs) lookAgain() { nudge(h.again) }

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Close is hub.Close, for all.
func (h *hubs) Close() {
	h.cancel()
	h.wg.Wait()
	for _, m := range h.hubs {
		m.Close()
	}
}

func (h *hubs) run(ctx context.Context) {
	ticker := time.NewTicker(h.period)
	defer ticker.Stop()
	for ctx.Err() == nil {
		h.look(ctx)
		h.spread(ctx)
		for stay := true; stay; {
			select {
			case <-ctx.Done():
				return
			case <-h.dirty:
				h.spread(ctx)
			case <-ticker.C:
				stay = false
			case <-h.again:
				stay = false
				h.pause(ctx)
			}
		}
	}
}

// pause: while a server is down, many who miss it say so.
func (h *hubs) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(lookPause):
	}
}

// look brings the hubs in line with the masters.
func (h *hubs) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	h.doubles.forget()
	masters, err := h.servers.masters(ctx)
	for _, m := range h.adopt(masters, err == nil) {
		m.Close()
	}
}

// adopt starts hubs for masters without, and returns those whose server is none any
// more.
func (h *hubs) adopt(masters []*goredis.Client, known bool) (gone []*member) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known = known; !known {
		return nil
	}
	for _, m := range h.hubs {
		m.missed++
	}
	for _, c := range masters {
		m := h.hubs[c]
		if m == nil {
			m = h.add(c)
		}
		m.missed = 0
	}
	for c, m := range h.hubs {
		if m.missed >= maxMissed {
			delete(h.hubs, c)
			gone = append(gone, m)
		}
	}
	return gone
}

// add starts a hub on c.
func (h *hubs) add(c *goredis.Client) *member {
	m := &member{hub: newHub(c, h.channel, h.log.With("server", c.Options().Addr))}
	m.watched, m.onLoss, m.period = h.watched, h.lookAgain, h.period
	m.start(func(payload string) {
		if h.doubles.first(payload, m.hub) {
			h.onMessage(payload)
		}
	}, h.onResync)
	h.hubs[c] = m
	return m
}

// spread has each channel watched by the hub of the server that has its slot.
func (h *hubs) spread(ctx context.Context) {
	for _, channel := range h.watchedNow() {
		owner, err := h.servers.of(ctx, homeOf(channel))
		if err != nil {
			return // the next look comes here again
		}
		h.move(channel, owner)
	}
}

func (h *hubs) watchedNow() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	channels := make([]string, 0, len(h.watches))
	for channel := range h.watches {
		channels = append(channels, channel)
	}
	return channels
}

// move has channel watched by the hub of owner, or by none if nobody wants it.
func (h *hubs) move(channel string, owner *goredis.Client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.watches[channel]
	if w.refs == 0 {
		delete(h.watches, channel)
	}
	to := h.hubs[owner]
	if w.refs == 0 {
		to = nil
	}
	if to == w.at {
		return
	}
	if w.at != nil {
		w.at.unwatch(channel)
	}
	if w.at = to; to != nil {
		to.watch(channel, w.f)
	}
}
