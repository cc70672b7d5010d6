package telemetry

import (
	"strings"
	"testing"
)

func TestGroupsText(t *testing.T) {
	tests := []struct {
		text, want string // want begins the error; "": none
	}{
		{"", ""},
		{"nightly-*=nightly", ""},
		{" a=1 , b=2,", ""},
		{"a=b=c", ""},
		{"nightly", `"nightly" is no rule`},
		{"=x", "a rule needs match"},
		{"a=", `the rule for "a" needs group`},
		{"[a=x", `"[a" is no pattern`},
		{"a=x y", `group "x y" must be`},
		{"a=" + strings.Repeat("x", 65), "group "},
		{strings.Repeat("a=b,", 51), "has 51 rules"},
	}
	for _, tt := range tests {
		g := Groups{{"before", "before"}}
		err := g.UnmarshalText([]byte(tt.text))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)) {
			t.Errorf("%q: err = %v, want %q", tt.text, err, tt.want)
		}
		if err != nil && g.String() != "before=before" {
			t.Errorf("%q: after the error the rules are %s, want those before", tt.text, g)
		}
		var again Groups
		if err == nil && (again.UnmarshalText([]byte(g.String())) != nil || again.String() != g.String()) {
			t.Errorf("%q is written as %q and read again as %q", tt.text, g, again)
		}
	}
}

func TestGroupsIndex(t *testing.T) {
	g := Groups{{"nightly-*", "a"}, {"*", "b"}, {"shop/*", "c"}}
	for name, want := range map[string]int{"nightly-1": 0, "x": 1, "shop/1": 2, "shop/1/2": 3} {
		if got := g.index(name); got != want {
			t.Errorf("index of %s = %d, want %d", name, got, want)
		}
	}
	if got := (Groups{}).index("x"); got != 0 {
		t.Errorf("index without rules = %d, want 0", got)
	}
}
