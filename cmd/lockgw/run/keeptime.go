package run

import (
	"context"
	"encoding/gob"
	"time"

	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/session"
)

// timekeeper is what a guardian does as long as the run lives: it kills the command if the run
// stands still, and so does not, before the locks can be somebody else's. It knows the deadlines
// from the run. When one is near, the run has stood still, or cannot learn a later one: then the
// guardian asks the gateway itself. A run that is well has killed the command half a margin before.
type timekeeper struct {
	o      *startOrder
	alarm  *boottime.Alarm
	p      *process
	margin time.Duration

	deadline time.Duration // CLOCK_BOOTTIME; 0: no time is to be kept
	asked    bool          // the gateway did not tell of a later one
}

// keepTime returns when the run has ended.
func (o *startOrder) keepTime(in *gob.Decoder, alarm *boottime.Alarm, p *process) {
	told := make(chan time.Duration)
	go func() { // ends with the run
		defer close(told)
		for {
			var deadline time.Duration
			if in.Decode(&deadline) != nil {
				return
			}
			told <- deadline
		}
	}()
	k := &timekeeper{o: o, alarm: alarm, p: p}
	if len(o.Views) > 0 {
		k.margin = marginOf(shortest(o.Views))
		k.until(o.Deadline + k.margin)
	}
	for {
		select {
		case deadline, ok := <-told:
			if !ok {
				return
			}
			k.until(deadline)
		case <-alarm.C:
			select {
			case deadline, ok := <-told:
				if !ok {
					return
				}
				k.until(deadline)
			default:
				k.due()
			}
		}
	}
}

// until takes a deadline.
func (k *timekeeper) until(deadline time.Duration) {
	k.deadline, k.asked = deadline, false
	if deadline == 0 {
		return
	}
	for i := range k.o.Views { // for one that takes over
		k.o.Views[i].Deadline = deadline
	}
	k.alarm.Set(k.last() - k.lead())
}

// last is when the command has to be killed.
func (k *timekeeper) last() time.Duration { return k.deadline - k.margin/2 }

// lead is how long the gateway may take to answer.
func (k *timekeeper) lead() time.Duration { return 2 * k.margin }

// due, called when the alarm goes off, asks the gateway, and kills the command if that has not
// told of a later deadline by then.
func (k *timekeeper) due() {
	select {
	case <-k.p.done: // what it has left in the background is not under the locks
		return
	default:
	}
	switch {
	case k.deadline == 0:
	case k.asked:
		if session.Boottime() >= k.last() {
			_ = k.p.killAll()
		}
	default:
		patience := k.last() - session.Boottime()
		if patience <= 0 { // this process has stood still, too, but perhaps not the gateway
			patience = k.lead()
		}
		if later := k.o.read(patience); later > k.deadline {
			k.until(later)
			return
		}
		k.asked = true
		k.alarm.Set(k.last())
	}
}

// read asks the gateway until when all locks are held; 0: it does not say so in time.
func (o *startOrder) read(patience time.Duration) (deadline time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	h := o.hold()
	defer h.close()
	if h.dial(ctx) != nil || h.refresh(ctx) != nil {
		return 0
	}
	deadline, _ = earliest(h.names(), h.views)
	return deadline
}
