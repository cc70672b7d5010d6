package config

import (
	"fmt"
	"strings"
	"testing"
)

// Rules for groups mean the same in the file, the environment and as a flag.
func TestConfigGroups(t *testing.T) {
	const file = "telemetry:\n  groups:\n    - {match: \"nightly-*\", group: nightly}\n    - {group: shop, match: \"shop/*\"}\n"
	const want = "nightly-*=nightly,shop/*=shop"
	s, err := loadWith(t, file)
	if err != nil || s.Telemetry.Groups.String() != want {
		t.Errorf("file: %s, %v; want %s", s.Telemetry.Groups, err, want)
	}
	if s, err = loadWith(t, "", "--telemetry-groups="+want); err != nil || s.Telemetry.Groups.String() != want {
		t.Errorf("flag: %s, %v; want %s", s.Telemetry.Groups, err, want)
	}
	t.Setenv("LOCKGW_TELEMETRY_GROUPS", want)
	if s, err = loadWith(t, ""); err != nil || s.Telemetry.Groups.String() != want {
		t.Errorf("variable: %s, %v; want %s", s.Telemetry.Groups, err, want)
	}
}

func TestConfigBadGroups(t *testing.T) {
	tests := []struct{ groups, want string }{
		{`[{match: a, gruop: b}]`, `unknown key "telemetry.groups.gruop", did you mean "group"?`},
		{`[{match: a}]`, `the rule for "a" needs group, a name (`},
		{`[{group: a}]`, "a rule needs match"},
		{`[{match: "[", group: a}]`, `"[" is no pattern`},
		{`[{match: a, match: b, group: c}]`, "is given twice"},
		{`[{match: "a,b", group: c}]`, "is no rule such as"},
		{`[{match: [a], group: c}]`, "telemetry.groups.match must be one plain value"},
		{`[a=b, {match: "c", group: d}]`, "must be a section with the keys match, group"},
		{`{match: a, group: b}`, "telemetry.groups must be a list"},
	}
	for _, tt := range tests {
		s, err := loadWith(t, fmt.Sprintf("telemetry: {groups: %s}", tt.groups))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: err = %v, want %q", tt.groups, err, tt.want)
		}
		if len(s.Telemetry.Groups) != 0 {
			t.Errorf("%s: groups = %s after the error, want none", tt.groups, s.Telemetry.Groups)
		}
	}
}
