package servers

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestDoubles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &doubles{seen: map[string]*copies{}}
		a, b := &subscriber{}, &subscriber{}
		for i, m := range []struct {
			text string
			by   *subscriber
			want bool
		}{
			{"x", a, true}, {"x", b, false}, {"y", b, true}, {"y", a, false},
			{"x", b, true}, {"x", a, false}, // a second one of the same text
			{"x", b, true}, {"x", b, true}, {"x", a, false}, {"x", a, false}, // b is ahead
			{"x", a, true}, // and a is
		} {
			if got := d.first(m.text, m.by); got != m.want {
				t.Errorf("message %d, %s: first = %v, want %v", i, m.text, got, m.want)
			}
		}
		time.Sleep(remembered + 1)
		if !d.first("x", b) {
			t.Error("a message that is long after its like counts as a copy")
		}
		d.forget()
		if len(d.seen) != 1 {
			t.Errorf("%d texts are remembered, want the last", len(d.seen))
		}
	})
}
