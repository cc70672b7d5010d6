package redlock

import (
	"strconv"
	"strings"

	"github.com/lockgw/lockgw/backend"
)

// await: r waits from now on, as far as messages are concerned. It comes before the
// request, so that a message which is faster than the answer is not lost. What was heard
// before is news again: the first node may have told of a release that the others had not
// heard of when they were asked.
func (b *Backend) await(r backend.Request) {
	if !r.Queue {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waits[placeOf(r)] = 1
}

func (b *Backend) unawait(r backend.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waits, placeOf(r))
}

// forget: r is over, and is not sent again.
func (b *Backend) forget(r backend.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waits, placeOf(r))
	delete(b.trials, placeOf(r))
}

// news: a release of the hold that began with f was not heard of at that place. All
// nodes tell of it, and the first message wins.
func (b *Backend) news(at place, f backend.Fence) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	last, waits := b.waits[at]
	switch {
	case !waits || f != 0 && f <= last:
		return false
	case f == 0: // of one of several holds, which end in any order
		return true
	}
	b.waits[at] = f
	return true
}

// heard takes a message of a script on one node: "f fence slot name" (it is free, ask
// now), "w fence slot name" (ask soon, unless another takes it), "o slot name"
// (another waits), "b fence slot name" (broken). Anything else is ignored.
func (b *Backend) heard(payload string) {
	f := strings.Split(payload, " ")
	if len(f) < 3 || f[0] == "o" && len(f) != 3 || f[0] != "o" && len(f) != 4 {
		return
	}
	h := backend.Hint{Name: f[len(f)-1]}
	if slot := f[len(f)-2]; slot != "-" {
		h.Slot = slot
	}
	if f[0] == "o" {
		h.Kind = backend.HintOthers
		b.hint(h)
		return
	}
	n, err := strconv.ParseUint(f[1], 10, 53)
	if err != nil {
		return
	}
	at := place{h.Name, h.Slot}
	switch {
	case f[0] == "f" && b.news(at, backend.Fence(n)):
		h.Kind = backend.HintFree
	case f[0] == "w" && b.awaits(at):
		h.Kind, h.After = backend.HintWatch, calm
	case f[0] == "b":
		h.Kind, h.Fence = backend.HintBroken, backend.Fence(n)
	default:
		return
	}
	b.hint(h)
}

// resync: messages of one node may have been lost. Those of the others may have been,
// too, so whoever waits asks again.
func (b *Backend) resync() { b.hint(backend.Hint{Kind: backend.HintResync}) }

// awaits: somebody waits at that place.
func (b *Backend) awaits(at place) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.waits[at]
	return ok
}
