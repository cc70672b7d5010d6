package limits

import (
	"time"

	"github.com/lockgw/lockgw/bench/callers"
	"github.com/lockgw/lockgw/bench/figures"
	"github.com/lockgw/lockgw/bench/rig"
)

// healthy is a caller that goes on as ever: it keeps one name, whose lease is short, and
// locks and unlocks another one again and again.
type healthy struct {
	user          *callers.Dialer
	keeper, pairs *callers.Wire
	crew          callers.Crew
	fence         string
}

const keptName = "kept"

// newKeeper is a healthy caller that only keeps its name.
func newKeeper(g *rig.Gateway) (h *healthy, err error) {
	h = &healthy{user: callers.NewDialer(callers.HealthyUser)}
	if h.keeper, err = h.user.Dial(g.RESP); err != nil {
		return nil, err
	}
	h.fence, err = h.keeper.Reply("LOCK", keptName, "TTL", "10")
	return h, err
}

func newHealthy(g *rig.Gateway) (*healthy, error) {
	h, err := newKeeper(g)
	if err != nil {
		return nil, err
	}
	if h.pairs, err = h.user.Dial(g.RESP); err != nil {
		return nil, err
	}
	lock, unlock := callers.LockAndUnlock("healthy")
	h.crew.Ops = []callers.Op{func() error {
		if err := h.pairs.Ask(lock); err != nil {
			return err
		}
		return h.pairs.Ask(unlock)
	}}
	_, err = callers.Load(h.crew, 200*time.Millisecond) // warms up
	return h, err
}

// measure is how long its pairs take for d. A refusal is an error, and so is the loss of
// what it keeps: to lock it again is to enter it once more, with the same fence.
func (h *healthy) measure(d time.Duration) (figures.Sample, error) {
	s, err := callers.Load(h.crew, d)
	if err != nil {
		return s, err
	}
	return s, h.keeps()
}

func (h *healthy) close() {
	h.keeper.Close()
	if h.pairs != nil {
		h.pairs.Close()
	}
}

// keeps is an error if what the caller keeps is lost.
func (h *healthy) keeps() error {
	fence, err := h.keeper.Reply("LOCK", keptName)
	if err == nil && fence != h.fence {
		err = lostError{h.fence, fence}
	}
	if err != nil {
		return err
	}
	_, err = h.keeper.Reply("UNLOCK", keptName)
	return err
}

type lostError struct{ had, has string }

func (e lostError) Error() string {
	return "the healthy caller has lost its lock: the fence was " + e.had + " and is " + e.has
}
