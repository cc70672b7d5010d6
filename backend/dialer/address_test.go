package dialer

import (
	"slices"
	"strings"
	"testing"
)

// An IPv6 address without brackets may end with a port or not, so that nobody knows who is meant.
func TestMembers(t *testing.T) {
	s := Scheme{Name: "s", Port: "7"}
	a, err := s.Parse("s://h,h:1,10.0.0.5,[::1],[fd00::1]:2,h:7/path")
	if want := []string{"h:7", "h:1", "10.0.0.5:7", "[::1]:7", "[fd00::1]:2"}; err != nil || !slices.Equal(a.Members, want) {
		t.Errorf("members = %q, %v, want %q", a.Members, err, want)
	}
	for _, hosts := range []string{"h,fd00::1", "h,fd00::1:2379", "h,h:0", "h,a b", "h,[]:1"} {
		if a, err := s.Parse("s://" + hosts); err == nil || !strings.Contains(err.Error(), "member 2 has to be host or host:port, such as h.example.net:7 or [::1]:7") {
			t.Errorf("%s: members = %q, %v, want an error", hosts, a.Members, err)
		}
	}
}
