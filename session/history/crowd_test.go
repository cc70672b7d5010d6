package history_test

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/history"
)

// Of a crowd that waited for long, each has a line by then. It gets another one when it is over,
// and is not counted besides, however many end within a minute.
func TestCrowd(t *testing.T) {
	h := open(t, history.Config{})
	const n = 300
	at := time.Now().Add(-time.Minute)
	var all []*caller
	for i := range n {
		all = append(all, ask(h, "x", i+1, at, nil))
	}
	if r := look(t, h, history.Query{Lock: "x"}); len(r.Attempts) != n || r.Attempts[0].Outcome != history.Waiting {
		t.Fatalf("%d attempts, the last %+v; want %d that wait", len(r.Attempts), r.Attempts[0], n)
	}
	for i, c := range all {
		c.grant(at.Add(30*time.Second), backend.Fence(i+1))
		c.step(session.StepReleased, at.Add(30*time.Second), "")
	}
	r := look(t, h, history.Query{Lock: "x"})
	told := map[history.Outcome]int{}
	for _, a := range r.Attempts {
		told[a.Outcome]++
	}
	if told[history.Released] != n || len(told) != 1 || r.Totals.Attempts+r.Counted != n {
		t.Errorf("outcomes %v, totals of %d attempts, %d counted; want %d released", told, r.Totals.Attempts, r.Counted, n)
	}
}
