package servers

import (
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

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
)

const (
	ProbePeriod  = 2 * time.Second
	probeTimeout = 1500 * time.Millisecond
	ProbePrefix  = "p " // no other message to a node's own channel begins so
	minBackoff   = 50 * time.Millisecond
	maxBackoff   = time.Second

	silence = "no wake-up messages from Redis; until they are back, waiters are served by timers"
)

// subscriber listens, on one connection, to this node's own channel and to those that
// are watched for a while.
//
// A subscription can be dead while TCP is well, and the other way round, and the
// client library notices neither. So the subscriber sends itself a message every period
// and makes a new connection when one does not come back within timeout. What was
// published meanwhile is lost: onResync says when to ask again.
type subscriber struct {
	client          *goredis.Client
	channel         string
	log             *slog.Logger
	period, timeout time.Duration // of probes; timeout is also of a new subscription
	watched         Publishing    // by which commands to watch a channel
	onMessage       func(payload string)
	onResync        func()
	onDeaf          func()
	onLoss          func() // a subscription has ended; it may belong elsewhere

	id     string // begins the probes of this subscriber, for others may share its channel
	cancel context.CancelFunc
	wg     sync.WaitGroup
	dirty  chan struct{} // cap 1: changed is not empty

	mu      sync.Mutex // guards the fields below
	watches map[string]*watch
	changed map[string]bool // channels that adjust has to look at
	proven  time.Time       // when a message last was known to arrive
	failing bool            // the last connection or attempt at one has failed
	why     error           // it did
}

// newSubscriber makes a subscriber that publishes by client and subscribes on a connection of
// its own with client's options. It does nothing before start.
func newSubscriber(client *goredis.Client, channel string, log *slog.Logger) *subscriber {
	return &subscriber{
		client: client, channel: channel, log: log, period: ProbePeriod, timeout: probeTimeout,
		watched: publish, onLoss: func() {}, id: rand.Text(), cancel: func() {}, dirty: make(chan struct{}, 1),
		watches: map[string]*watch{}, changed: map[string]bool{},
	}
}

// Start subscribes, now and whenever the connection was lost, until Close.
// onMessage gets each payload of the node's own channel but the probes, onResync is
// called each time that channel was subscribed to; neither may block.
func (h *subscriber) Start(onMessage func(payload string), onResync, onDeaf func()) {
	h.onMessage, h.onResync, h.onDeaf = onMessage, onResync, onDeaf
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	h.wg.Go(func() { h.run(ctx) })
}

var errDeaf = errors.New("answers, but messages do not arrive")

// Deaf implements Subscriber. What the server refuses is what somebody has to mend; all else
// may be over with the next connection.
func (h *subscriber) Deaf(*goredis.Client) error {
	if h.healthy() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failing && refused(h.why) {
		return fmt.Errorf("%w: %s", errDeaf, strings.TrimPrefix(h.why.Error(), backend.ErrRefused.Error()+": "))
	}
	return errDeaf
}

// healthy: messages published now will arrive, as far as the last probe tells.
func (h *subscriber) healthy() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.failing && time.Since(h.proven) < h.period+h.timeout
}

// ProbeAge is how long ago messages were last known to arrive; very long if never.
func (h *subscriber) ProbeAge() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Since(h.proven)
}

// Close ends the subscription and waits for it; no callback runs afterwards.
func (h *subscriber) Close() {
	h.cancel()
	h.wg.Wait()
}

// run keeps one connection after the other.
func (h *subscriber) run(ctx context.Context) {
	backoff := minBackoff
	for ctx.Err() == nil {
		err := h.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		h.onLoss()
		news := h.lost(err)
		if refused(conn.Outcome(err)) || !news && h.answers(ctx) {
			h.onDeaf()
		}
		if news {
			backoff = minBackoff
			switch why := conn.Outcome(err); {
			case conn.RefusedLogin(err):
				h.log.Error("Redis refuses the user or the password of backend.url (backend.password_file): no lock can be had until that is corrected", "err", why)
			case refused(why):
				h.log.Warn(silence, "err", why)
			default:
				h.log.Warn(silence, "err", err)
			}
		}
		backend.Wait(ctx, backoff/2+mathrand.N(backoff/2)) // many nodes lose the same Redis at once
		backoff = min(2*backoff, maxBackoff)
	}
}

// serve subscribes on a new connection and returns why it is of no use any more.
func (h *subscriber) serve(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	h.mu.Lock()
	clear(h.changed)
	channels := slices.Collect(maps.Keys(h.watches))
	h.mu.Unlock()
	var reader sync.WaitGroup
	defer reader.Wait()
	ps := h.client.Subscribe(ctx) // connects with the first channel
	defer ps.Close()              // makes read return
	if err := h.subscribe(ctx, ps, channels); err != nil {
		return err
	}
	echoes := make(chan string, 1)
	reader.Go(func() { fail(h.read(ctx, ps, echoes)) })
	return h.keep(ctx, ps, echoes)
}

// keep proves and adjusts a subscription until ctx is done, by read as a rule.
func (h *subscriber) keep(ctx context.Context, ps *goredis.PubSub, echoes <-chan string) error {
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
			err = h.prove(ctx, h.id+rand.Text(), echoes)
		}
		if err != nil {
			return err
		}
	}
}

// refused: the server was reached, and has said no.
func refused(err error) bool {
	return errors.Is(err, backend.ErrRefused) && !errors.Is(err, backend.ErrUnreachable)
}

// proved notes that messages arrive, and returns whether that is news.
func (h *subscriber) proved() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	news := h.failing
	h.failing, h.why, h.proven = false, nil, time.Now()
	return news
}

// answers: Redis takes requests. One connection that breaks is soon made anew; where another one cannot
// be made, and nothing refuses it, the server may be away altogether, or what is on the way may let no
// more connections through than there are.
func (h *subscriber) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	return h.client.Ping(ctx).Err() == nil
}

func (h *subscriber) wasRefused() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return refused(h.why)
}

// lost notes that they do not, and returns whether that is news, or the server refuses what it
// did not refuse before: what came first may have been the end of a connection alone.
func (h *subscriber) lost(err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	why, before := conn.Outcome(err), h.why
	news := !h.failing || refused(why) && (before == nil || before.Error() != why.Error())
	h.failing, h.why = true, why
	return news
}

// prove waits until the subscriber hears from itself: nonce, which it sends, or "", which
// stands for the answer to SUBSCRIBE.
func (h *subscriber) prove(ctx context.Context, nonce string, echoes <-chan string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, h.timeout, errors.New("no message came back in time"))
	defer cancel()
	if nonce != "" {
		heard, err := h.client.Publish(ctx, h.channel, ProbePrefix+nonce).Result()
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
				if nonce == "" && h.wasRefused() { // which may have been to publish
					return h.prove(ctx, h.id+rand.Text(), echoes)
				}
				if h.proved() {
					h.log.Info("wake-up messages from Redis are back")
				}
				return nil
			}
		}
	}
}
