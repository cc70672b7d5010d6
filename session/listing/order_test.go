package listing

import (
	"slices"
	"testing"

	"github.com/lockgw/lockgw/session"
)

// A lock that a program outside lockgw holds has neither a machine nor a command to be sorted by. It
// comes last in both directions, as those do that nobody holds.
func TestOrderByUnknownHolder(t *testing.T) {
	held := func(name, node string) listed {
		return listedOf(session.Status{Name: name, State: session.StateHeld, Holder: &session.Holder{Node: node, Owner: "o:1"}})
	}
	for order, want := range map[string][]string{"asc": {"z", "y", "a", "b"}, "desc": {"y", "z", "a", "b"}} {
		all := []listed{held("a", ""), held("y", "host-b"), {name: "b"}, held("z", "host-a")}
		compare := (&Query{Sort: ByHolder, Order: order}).compare()
		slices.SortFunc(all, func(a, b listed) int { return compare(&a, &b) })
		var got []string
		for _, l := range all {
			got = append(got, l.name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", order, got, want)
		}
	}
}
