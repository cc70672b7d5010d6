package servers

import (
	"context"
	"log/slog"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
)

// subscribers listens on every master of a cluster, by a subscriber each. A script can tell from
// PUBLISH whether a node listens only on the server that runs it, and any server may
// come to run the next. Redis hands each message on to all servers, so that it comes
// by all subscribers, of which the first to bring it counts. A channel that is watched is
// subscribed to where its slot is, because SPUBLISH is heard nowhere else, and neither
// is what a server tells of its keys.
//
// It looks for masters each period of the subscribers' probes, and at once when a subscriber or a
// request found a server gone or a slot moved. A subscriber that is new ends with a resync,
// as one does that is subscribed again.
type subscribers struct {
	servers Set
	channel string
	watched Publishing
	log     *slog.Logger
	period  time.Duration

	onMessage func(payload string)
	onResync  func()
	onDeaf    func()
	cancel    context.CancelFunc
	wg        sync.WaitGroup
	again     chan struct{} // cap 1: the masters may be others
	dirty     chan struct{} // cap 1: watches have changed
	doubles   doubles

	mu          sync.Mutex // guards the fields below
	subscribers map[*goredis.Client]*member
	known       bool // the masters were found the last time
	watches     map[string]*spread
}

// member is the subscriber of a master.
type member struct {
	*subscriber
	missed int // how often in a row it was no master
}

// spread is a channel that is watched, and by which subscriber.
type spread struct {
	watch
	at *member // nil: none yet
}

// maxMissed: one server's view of the cluster may be old for a moment.
const maxMissed = 3

const lookPause = 200 * time.Millisecond

func newSubscribers(s Set, channel string, watched Publishing, log *slog.Logger) *subscribers {
	return &subscribers{
		servers: s, channel: channel, watched: watched, log: log, period: ProbePeriod, cancel: func() {},
		again: make(chan struct{}, 1), dirty: make(chan struct{}, 1),
		doubles: doubles{seen: map[string]*copies{}}, subscribers: map[*goredis.Client]*member{}, watches: map[string]*spread{},
	}
}

// Start is subscriber.start, for all.
func (h *subscribers) Start(onMessage func(payload string), onResync, onDeaf func()) {
	h.onMessage, h.onResync, h.onDeaf = onMessage, onResync, onDeaf
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	h.wg.Go(func() { h.run(ctx) })
}

func (h *subscribers) Deaf(c *goredis.Client) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.subscribers[c]
	if !h.known || m == nil {
		return errDeaf
	}
	return m.Deaf(c)
}

// ProbeAge is the longest of those of the masters.
func (h *subscribers) ProbeAge() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.subscribers) == 0 {
		return time.Since(time.Time{})
	}
	var oldest time.Duration
	for _, m := range h.subscribers {
		if m.missed == 0 {
			oldest = max(oldest, m.ProbeAge())
		}
	}
	return oldest
}

// Watch is subscriber.watch.
func (h *subscribers) Watch(channel string, f func()) { h.count(channel, f, 1) }

// Unwatch is subscriber.unwatch.
func (h *subscribers) Unwatch(channel string) { h.count(channel, nil, -1) }

func (h *subscribers) count(channel string, f func(), n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.watches[channel]
	if w == nil {
		w = &spread{watch: watch{f: f}}
		h.watches[channel] = w
	}
	w.refs = max(w.refs+n, 0)
	backend.Signal(h.dirty)
}

// lookAgain has the masters looked for now.
func (h *subscribers) lookAgain() { backend.Signal(h.again) }

// Close is subscriber.Close, for all.
func (h *subscribers) Close() {
	h.cancel()
	h.wg.Wait()
	for _, m := range h.subscribers {
		m.Close()
	}
}

func (h *subscribers) run(ctx context.Context) {
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
				backend.Wait(ctx, lookPause) // while a server is down, many who miss it say so
			}
		}
	}
}

// look brings the subscribers in line with the masters.
func (h *subscribers) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	h.doubles.forget()
	masters, err := h.servers.Masters(ctx)
	for _, m := range h.adopt(masters, err == nil) {
		m.Close()
	}
}

// adopt starts subscribers for masters without, and returns those whose server is none any
// more.
func (h *subscribers) adopt(masters []*goredis.Client, known bool) (gone []*member) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known = known; !known {
		return nil
	}
	for _, m := range h.subscribers {
		m.missed++
	}
	for _, c := range masters {
		m := h.subscribers[c]
		if m == nil {
			m = h.add(c)
		}
		m.missed = 0
	}
	for c, m := range h.subscribers {
		if m.missed >= maxMissed {
			delete(h.subscribers, c)
			gone = append(gone, m)
		}
	}
	return gone
}

// add starts a subscriber on c.
func (h *subscribers) add(c *goredis.Client) *member {
	m := &member{subscriber: newSubscriber(c, h.channel, h.log.With("server", c.Options().Addr))}
	m.watched, m.onLoss, m.period = h.watched, h.lookAgain, h.period
	m.Start(func(payload string) {
		if h.doubles.first(payload, m.subscriber) {
			h.onMessage(payload)
		}
	}, h.onResync, h.onDeaf)
	h.subscribers[c] = m
	return m
}

// spread has each channel watched by the subscriber of the server that has its slot.
func (h *subscribers) spread(ctx context.Context) {
	for _, channel := range h.watchedNow() {
		owner, err := h.servers.Of(ctx, homeOf(channel))
		if err != nil {
			return // the next look comes here again
		}
		h.move(channel, owner)
	}
}

func (h *subscribers) watchedNow() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	channels := make([]string, 0, len(h.watches))
	for channel := range h.watches {
		channels = append(channels, channel)
	}
	return channels
}

// move has channel watched by the subscriber of owner, or by none if nobody wants it.
func (h *subscribers) move(channel string, owner *goredis.Client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.watches[channel]
	if w.refs == 0 {
		delete(h.watches, channel)
	}
	to := h.subscribers[owner]
	if w.refs == 0 {
		to = nil
	}
	if to == w.at {
		return
	}
	if w.at != nil {
		w.at.Unwatch(channel)
	}
	if w.at = to; to != nil {
		to.Watch(channel, w.f)
	}
}
