package listing

import (
	"slices"
	"testing"

	"github.com/lockgw/lockgw/session"
)

// A lock that a program outside lockgw holds has neither a machine nor a command to be sorted by. It
// comes last in both directions, as those do that nobody holds.
func TestOrderByUnknownHolder(t *testing.T) {
	held := func(name, node string) place {
		return listedOf(session.Status{Name: name, State: session.StateHeld, Holder: &session.Holder{Node: node, Owner: "o:1"}}).place
	}
	for order, want := range map[string][]string{"asc": {"z", "y", "a", "b"}, "desc": {"y", "z", "a", "b"}} {
		all := []place{held("a", ""), held("y", "host-b"), {Name: "b"}, held("z", "host-a")}
		compare := (&Query{Sort: ByHolder, Order: order}).compare()
		slices.SortFunc(all, func(a, b place) int { return compare(&a, &b) })
		var got []string
		for _, l := range all {
			got = append(got, l.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", order, got, want)
		}
	}
}
