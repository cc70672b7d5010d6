package tabletest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

func (e *env) names() {
	for _, n := range []string{"*", "[a]?", "%_", `back\slash`, "ünï/cödé", "a{b}c", "with space", "quote'\"", strings.Repeat("l", 255-len(e.name)-1)} {
		e.T.Run(n[:min(len(n), 20)], func(t *testing.T) {
			one := *e
			one.T, one.name = t, e.name+":"+n
			one.is(one.want(e.a, backend.Exclusive, 1), "a |")
			r := one.look(e.b)
			one.is(r, "a |")
			if errs, err := e.a.Renew(one.ctx(), []ledger.Renewal{{Name: one.name, ID: r.Record.Firm(e.a.id).ID, TTL: time.Minute}}); err != nil || errs[0] != nil {
				t.Error(err, errs)
			}
			rows, _, err := e.b.List(one.ctx(), one.name, "", 10)
			if err != nil || len(rows) != 1 || rows[0].Name != one.name {
				t.Errorf("listed as %+v, %v", rows, err)
			}
			one.is(one.leave(e.a), "|")
		})
	}
}

func (e *env) list() {
	name, want := e.name, map[string]bool{}
	for i := range 25 {
		e.name = fmt.Sprintf("%s:l:%02d", name, i)
		if i == 24 {
			e.name = name + ":l:\U0010ffff-" // there is no character after that
		}
		e.want(e.a, backend.Exclusive, 1)
		want[e.name] = true
	}
	e.name = name + ":m:0"
	e.want(e.a, backend.Exclusive, 1)
	e.until(func() bool { // a server that was slow may just be getting what a majority has
		return len(e.listed(name+":l:", want)) == len(want)
	})
	e.until(func() bool { return e.a.Ping(e.ctx()) == nil }) // messages may be late where the machine is busy
}

// listed are the names that begin with prefix, all of want.
func (e *env) listed(prefix string, want map[string]bool) map[string]bool {
	e.Helper()
	got, cursor := map[string]bool{}, ""
	for pages := 0; ; pages++ {
		rows, next, err := e.b.List(e.ctx(), prefix, cursor, 7)
		if err != nil {
			e.Fatal(err)
		}
		for _, r := range rows {
			if !want[r.Name] || r.Version == "" || r.Record.Firm(e.a.id) == nil {
				e.Errorf("listed %+v", r)
			}
			got[r.Name] = true
		}
		if cursor = next; next == "" {
			return got
		}
		if pages > 10_000 {
			e.Fatal("the list does not end")
		}
	}
}

// info: what is promised is what the tests of this suite ask for, and does not change.
func (e *env) info() {
	is := e.a.Info()
	if is.Type == "" || !is.Fencing || !is.Queue {
		e.Errorf("a table promises %+v", is)
	}
	e.want(e.a, backend.Exclusive, 1)
	if again, other := e.a.Info(), e.b.Info(); again != is || other != is {
		e.Errorf("it promises %+v, then %+v, and another node %+v", is, again, other)
	}
}
