package telemetry

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// Groups sort lock names into a few groups, because a metric with an attribute for
// each name would grow without bound. The first that matches counts.
type Groups []Group

// Group is the lock names that match a pattern.
type Group struct {
	Match string `yaml:"match" json:"match"` // as path.Match has it: * is no /
	Group string `yaml:"group" json:"group"`
}

// other is the group of names that no rule matches.
const other = "other"

const maxGroups = 50

// index of the group of name in Groups.names.
func (g Groups) index(name string) int {
	for i, rule := range g {
		if ok, _ := path.Match(rule.Match, name); ok { // a bad pattern did not get so far
			return i
		}
	}
	return len(g)
}

// Check says what is wrong with g.
func (g Groups) Check() error {
	if len(g) > maxGroups {
		return fmt.Errorf("has %d rules, the limit is %d", len(g), maxGroups)
	}
	for _, rule := range g {
		if err := rule.check(); err != nil {
			return err
		}
	}
	return nil
}

func (g Group) check() error {
	_, bad := path.Match(g.Match, "")
	switch {
	case g.Match == "":
		return errors.New("a rule needs match, a pattern such as nightly-*")
	case bad != nil:
		return fmt.Errorf("%q is no pattern: %w", g.Match, bad)
	case strings.Contains(g.Match, ","):
		return fmt.Errorf("%q must not contain a comma; ? matches any one character", g.Match)
	case g.Group == "":
		return fmt.Errorf("the rule for %q needs group, a name", g.Match)
	case len(g.Group) > 64 || strings.ContainsFunc(g.Group, notInGroup):
		return fmt.Errorf("group %q must be at most 64 letters, digits, - and _", g.Group)
	}
	return nil
}

func notInGroup(r rune) bool {
	return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// UnmarshalText reads rules as nightly-*=nightly, separated by commas.
func (g *Groups) UnmarshalText(text []byte) error {
	rules := Groups{}
	for item := range strings.SplitSeq(string(text), ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		at := strings.LastIndex(item, "=")
		if at < 0 {
			return fmt.Errorf("%q is no rule such as nightly-*=nightly", item)
		}
		rules = append(rules, Group{Match: item[:at], Group: item[at+1:]})
	}
	if err := rules.Check(); err != nil {
		return err
	}
	*g = rules
	return nil
}

// String is the opposite of UnmarshalText.
func (g Groups) String() string {
	items := make([]string, len(g))
	for i, rule := range g {
		items[i] = rule.Match + "=" + rule.Group
	}
	return strings.Join(items, ",")
}
