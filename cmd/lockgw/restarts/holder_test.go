package restarts

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/history"
)

// door is how a client reaches its gateway. It may be used again after any error.
type door interface {
	acquire(ctx context.Context, name, key string, wait time.Duration) (lock, error)
	release(ctx context.Context, name, key string) (left int, err error)
	locks(ctx context.Context) ([]lock, error)
	end(ctx context.Context) error
}

// holder is a client that lives, and holds its names through every restart.
type holder struct {
	id    int
	g     *gateway
	door  door
	led   *ledger
	watch *watch // nil: the store cannot be watched
	held  map[string]*history.Op
	as    map[string]lock // what it was told first
	keys  int
	looks atomic.Int64 // how often its holds were seen to stand
	gone  bool         // it has lost something, rightly or not
}

func (h *holder) key() string {
	h.keys++
	return fmt.Sprintf("holder-%d-%d", h.id, h.keys)
}

// take acquires name and enters it again until it was entered so often.
func (h *holder) take(ctx context.Context, name string, entries int) error {
	for n := 1; n <= entries; n++ {
		key, asked := h.key(), now()
		l, err := insist(ctx, h.led, func(ctx context.Context) (lock, error) { return h.door.acquire(ctx, name, key, 0) })
		if err != nil {
			return fmt.Errorf("holder %d: take %s: %w", h.id, name, err)
		}
		if l.Count != n {
			return fmt.Errorf("holder %d: entered %s as number %d, want %d", h.id, name, l.Count, n)
		}
		if n == 1 {
			h.held[name] = &history.Op{
				Name: name, Caller: h.id, Node: h.g.Name, TTL: ttl, Call: asked, Answer: now(),
				Outcome: history.Granted, Fence: l.Fence, Deadline: l.deadline(),
			}
		}
		h.as[name] = l
	}
	h.watch.add(name, h.as[name].Owner, entries)
	return nil
}

// run looks after its holds until ctx is done. A look is not broken off: that would
// end the connection by which some live.
func (h *holder) run(ctx context.Context) {
	for ctx.Err() == nil && !h.gone {
		h.look()
		pause(ctx, 20*time.Millisecond)
	}
}

// look asks what the session holds, which has to be what it was told first.
func (h *holder) look() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	before, _ := h.g.Starts()
	asked := now()
	held, err := h.door.locks(ctx)
	no := (*refusal)(nil)
	switch {
	case err != nil && !errors.As(err, &no):
		return // no answer
	case err != nil:
		h.miss("its session is gone: " + err.Error())
		return
	case len(held) != len(h.as):
		h.miss(fmt.Sprintf("it holds %+v", held))
		return
	}
	for _, l := range held {
		if was := h.as[l.Name]; was.Owner != l.Owner || was.Fence != l.Fence || was.Count != l.Count {
			h.led.fault("holder %d at %s: %+v was %+v before", h.id, h.g.Name, l, was)
			h.gone = true
			return
		}
		o := h.held[l.Name]
		o.Deadline, o.Proven = max(o.Deadline, l.deadline()), asked
	}
	if after, _ := h.g.Starts(); after == before {
		h.looks.Add(1)
	}
}

// miss notes that something is gone, which is allowed only if the gateway was away at the
// deadline.
func (h *holder) miss(what string) {
	h.gone = true
	for _, o := range h.held {
		if h.g.WasAwayAt(o.Deadline) {
			h.led.count(&h.led.late)
			return
		}
	}
	h.led.fault("holder %d at %s, told of %+v: %s\n%s", h.id, h.g.Name, h.as, what, h.g.Log())
}

// leave releases everything, entry by entry, and counts.
func (h *holder) leave(ctx context.Context) {
	for name, o := range h.held {
		if h.gone {
			break
		}
		h.watch.remove(name)
		h.giveUp(ctx, name, o)
		h.led.op(*o)
	}
	if err := endSession(h.led, h.door); err != nil {
		h.led.fault("holder %d: end its session: %v", h.id, err)
	}
}

func (h *holder) giveUp(ctx context.Context, name string, o *history.Op) {
	for want := h.as[name].Count - 1; want >= 0; want-- {
		key := h.key()
		o.EndCall = now()
		left, err := insist(ctx, h.led, func(ctx context.Context) (int, error) { return h.door.release(ctx, name, key) })
		if err != nil || left != want {
			h.led.fault("holder %d: release of %s: %d entries are left, %v, want %d", h.id, name, left, err, want)
			return
		}
	}
	o.End, o.EndAnswer = history.Released, now()
}
