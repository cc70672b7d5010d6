package run

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

const (
	showAfter = 300 * time.Millisecond // shorter waits are not worth a line
	askEvery  = 30 * time.Second       // who holds the name; the store is asked each time
)

// showWait reports how the wait for name goes, until the function it returns is
// called. It uses a connection of its own: on that of the hold the LOCK waits.
func (h *hold) showWait(ctx context.Context, r *report, name string, start time.Time) (stop func()) {
	o := h.o
	if o.quiet || o.noWait {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		w := waitLine{o: o, name: name, owner: h.owner, start: start}
		w.show(ctx, r)
	})
	return func() {
		cancel()
		wg.Wait()
		r.endWait()
	}
}

// waitLine is what is told of one wait.
type waitLine struct {
	o     *options
	name  string
	owner string // to find one's own place in the queue
	start time.Time

	gateway gateway
	known   client.Status // as of the last time the gateway was asked
}

// show tells at once and then every 30 s, on a terminal every second.
func (w *waitLine) show(ctx context.Context, r *report) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(showAfter):
	}
	defer func() {
		if w.gateway != nil {
			_ = w.gateway.Close()
		}
	}()
	every := askEvery
	if r.live {
		every = time.Second
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	var asked time.Time
	for {
		if time.Since(asked) >= askEvery-time.Second/2 {
			asked = time.Now()
			w.ask(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		r.waiting(w.event(time.Now()), func(columns int) string { return w.text(time.Now(), columns) })
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// ask leaves what is known as it is when there is no answer: the wait itself
// notices when the gateway is gone.
func (w *waitLine) ask(ctx context.Context) {
	if w.gateway == nil || w.gateway.Err() != nil {
		g, err := w.o.connect(ctx, client.Options{})
		if err != nil {
			return
		}
		w.gateway = g
	}
	if st, err := w.gateway.Info(ctx, w.name); err == nil {
		w.known = st
	}
}

// place is one's own in the queue of all gateways, 0 if unknown, and how many wait.
func (w *waitLine) place() (position, of int) {
	for i, q := range w.known.Queue {
		if q.Owner == w.owner {
			return w.known.Ahead + i + 1, max(w.known.Waiters, w.known.Ahead+len(w.known.Queue))
		}
	}
	return 0, 0
}

// text is waiting for nightly - held by host-b pid 4411 (backup.sh) for 3m12s -
// 2nd of 3 - gives up in 26m48s. Where that is wider than columns, the end is kept, which
// changes, and what stands before it is cut. 0 columns: as wide as it is.
func (w *waitLine) text(now time.Time, columns int) string {
	parts := []string{"waiting for " + w.name}
	if h := w.known.Holder; h != nil {
		held := "held by " + cli.HolderText(h)
		if !h.Since.IsZero() {
			held += " for " + cli.Age(now.Sub(h.Since))
		}
		parts = append(parts, held)
	}
	if w.known.Trouble != "" {
		parts = append(parts, cli.Printable(w.known.Trouble))
	}
	var end string
	if position, of := w.place(); position > 0 {
		end += fmt.Sprintf(" - %s of %d", cli.Ordinal(position), of)
	}
	if !w.o.forever {
		end += " - gives up in " + cli.Age(w.left(now))
	}
	text := strings.Join(parts, " - ")
	if columns > 0 {
		text = cli.Cut(text, columns-utf8.RuneCountInString(end))
	}
	return text + end
}

func (w *waitLine) left(now time.Time) time.Duration {
	return max(0, w.o.wait-now.Sub(w.start))
}

func (w *waitLine) event(now time.Time) event {
	e := event{Event: "waiting", Lock: w.name, Holder: w.known.Holder, WaitedMS: now.Sub(w.start).Milliseconds(), Error: w.known.Trouble}
	e.Position, e.Of = w.place()
	if !w.o.forever {
		e.GivesUpMS = w.left(now).Milliseconds()
	}
	return e
}
