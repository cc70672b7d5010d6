package restarts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/history"
)

// waiter stands in the queue for a name that somebody holds through every restart,
// and asks again when its gateway was away. In the end it gets the name.
type waiter struct {
	id   int
	g    *gateway
	led  *ledger
	name string
}

func (w *waiter) run(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		if w.once(ctx, fmt.Sprintf("waiter-%d-%d", w.id, n)) {
			return
		}
		pause(ctx, 5*time.Millisecond)
	}
	w.led.fault("waiter %d at %s never got %s", w.id, w.g.Name, w.name)
}

func (w *waiter) once(ctx context.Context, key string) (served bool) {
	d, err := openLine(ctx, w.g, 0)
	if err != nil {
		return false
	}
	defer d.close()
	o := history.Op{Name: w.name, Caller: w.id, Node: w.g.Name, TTL: ttl, Call: now(), Outcome: history.Granted}
	l, err := d.acquire(ctx, w.name, key, 4*time.Minute)
	if no := (*refusal)(nil); errors.As(err, &no) && no.code != "wait_timeout" {
		w.led.fault("waiter %d at %s: %v", w.id, w.g.Name, err)
	}
	if err != nil {
		return false
	}
	o.Answer, o.Fence, o.Deadline, o.EndCall = now(), l.Fence, l.deadline(), now()
	if left, err := d.release(ctx, w.name, key+"-end"); err != nil || left != 0 {
		w.led.fault("waiter %d: release of %s: %d entries are left, %v", w.id, w.name, left, err)
	}
	o.End, o.EndAnswer = history.Released, now()
	w.led.op(o)
	return true
}
