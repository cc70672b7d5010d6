package interop

import (
	"testing"
	"time"
)

// breakIt takes name from its holder as an operator does who has looked at it.
func (g *gateway) breakIt(t *testing.T, name string) {
	t.Helper()
	st, err := g.dial(t, nil).Info(t.Context(), name)
	if err != nil || st.State != "held" {
		t.Fatalf("LOCKINFO %s = %+v, %v, want held", name, st, err)
	}
	if err := g.breakLock(name, st.Fence); err != nil {
		t.Fatal(err)
	}
}

func breakTheirs(t *testing.T, c *column) string {
	name, k := lockName(t), c.a.caller(t)
	k.takes(t, name, 0, long) // so that there is a fence
	k.gives(t, name)
	c.takes(t, "w", name, 0, long)
	granted := k.waits(t, name, long)
	began := time.Now()
	c.a.breakIt(t, name)
	o := <-granted
	o.mustHold(t, "a caller of the gateway")
	if d := o.at.Sub(began); d > 2*soon {
		t.Errorf("granted %v after the break", d)
	}
	if got, err := c.peer.ask("w", "unlock", c.kind, name); err == nil && got == "done" {
		t.Errorf("unlock of a broken lock = %q", got)
	}
	c.refused(t, "v", name, 0)
	k.gives(t, name)
	return "yes"
}

func breakOurs(t *testing.T, c *column) string {
	name, k := lockName(t), c.a.caller(t)
	k.takes(t, name, 0, long)
	granted := c.waits(t, "w", name, long)
	began := time.Now()
	c.a.breakIt(t, name)
	o := <-granted
	o.mustHold(t, c.name)
	select {
	case n := <-k.notices:
		if n.Kind != "lost" {
			t.Errorf("notice = %+v, want lost", n)
		}
	case <-time.After(patience):
		t.Error("the holder was not told")
	}
	c.gives(t, "w", name)
	return within(t, []time.Duration{o.at.Sub(began)}, 2*soon)
}

func delayed(t *testing.T, c *column) string {
	name, k := lockName(t), c.delayed.caller(t)
	k.takes(t, name, 0, long)
	granted := c.waits(t, "w", name, long)
	broken := time.Now()
	c.delayed.breakIt(t, name)
	c.leased(t, name)
	c.refused(t, "v", name, 0)
	o := <-granted
	o.mustHold(t, c.name)
	if d := o.at.Sub(broken); d < delay || d > delay+2*soon {
		t.Errorf("granted %v after the break, want the delay of %v", d, delay)
	}
	c.gives(t, "w", name)
	return "yes"
}
