package run

import (
	"time"

	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

// suspendedPatience is how long the gateway may take to tell whether the locks of a command
// that was suspended are still held.
const suspendedPatience = 10 * time.Second

// guard knows when a command has to be asked to stop, so that it has ended before somebody
// else can have its locks. The gateway tells of a loss, but a gateway that hangs tells
// nothing. So the deadline of the last reading counts until there is a newer reading.
type guard struct {
	h     *hold
	alarm *boottime.Alarm

	deadline time.Duration // CLOCK_BOOTTIME; the first of the holds ends then
	grace    time.Duration // the command is asked to stop so long before that
	margin   time.Duration // and killed so long before that
	asked    bool          // a reading was asked for since the alarm
}

// newGuard starts to watch h. Close it. Without locks it does nothing.
func newGuard(o *options, h *hold) (*guard, error) {
	a, err := boottime.New()
	if err != nil {
		return nil, err
	}
	g := &guard{h: h, alarm: a}
	if len(h.views) == 0 {
		return g, nil
	}
	ttl := shortest(h.views)
	// The gateway renews every ttl/3 and is read every ttl/6: a hold that is well
	// has never less than ttl/2 left in the last reading.
	g.margin = marginOf(ttl)
	g.grace = max(min(o.killAfter, ttl/3), ttl/10) + g.margin
	g.update(h.views)
	h.watch(max(ttl/6, 10*time.Millisecond))
	return g, nil
}

// shortest is the time of the hold that has the least left.
func shortest(holds []client.Hold) time.Duration {
	ttl := holds[0].Left
	for _, v := range holds {
		ttl = min(ttl, v.Left)
	}
	return ttl
}

// marginOf a lease of ttl: so long before its end the command is killed, for on a busy machine
// who kills may have to wait for a turn.
func marginOf(ttl time.Duration) time.Duration { return min(500*time.Millisecond, ttl/10) }

// update takes a reading. False: a hold is missing in it.
func (g *guard) update(holds []client.Hold) bool {
	first, all := earliest(g.h.names(), holds)
	if !all {
		return false
	}
	if first > g.deadline {
		g.asked = false
	}
	g.deadline = first
	g.alarm.Set(first - g.grace)
	return true
}

// safe tells whether there is time left before the command has to be asked to stop.
func (g *guard) safe() bool { return session.Boottime() < g.deadline-g.grace }

// due, called when the alarm goes off, tells whether the time has come. First it
// asks once more, for this process itself may have been stopped for a while. A command
// that is suspended does no harm meanwhile, so the answer may take longer then.
func (g *guard) due(suspended bool) bool {
	switch {
	case g.safe():
		return false
	case g.asked:
		return true
	}
	g.asked = true
	g.h.look()
	patience := min(500*time.Millisecond, g.grace/2) // a busy machine is slow to answer
	if suspended {
		patience = suspendedPatience
	}
	g.alarm.Set(session.Boottime() + patience)
	return false
}

// killBy is when the command must be gone; 0: no lock says so.
func (g *guard) killBy() time.Duration {
	if g.deadline == 0 {
		return 0
	}
	return g.deadline - g.margin
}

// Close ends the alarm; the hold is closed by who has acquired it.
func (g *guard) Close() { _ = g.alarm.Close() }
