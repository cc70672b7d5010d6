package model

import (
	"fmt"
	"slices"
)

// trace is the steps that lead to state id.
func (x *search) trace(id int32) []string {
	var out []string
	for ; x.parent[id] >= 0; id = x.parent[id] {
		text := ""
		x.next(&x.states[x.parent[id]], func(t *state, l label, _ edge) {
			if text == "" && *t == x.states[id] {
				text = x.say(l)
			}
		})
		out = append(out, text)
	}
	slices.Reverse(out)
	return out
}

// say puts l into words: "granted: told by A, caller 1".
func (x *search) say(l label) string {
	switch {
	case l.at == nowhere:
		return l.text
	case l.c != 0:
		return fmt.Sprintf("%s %s%d", l.text, x.name(l.at), l.c)
	default:
		return fmt.Sprintf("%s %s", l.text, x.name(l.at))
	}
}

// name of a place: its node, and which one of it where there are several.
func (x *search) name(i int8) string {
	n := string(rune('A' + x.Places[i]))
	if !x.strict() {
		return n
	}
	return fmt.Sprintf("%s%d.", n, i-x.firstOf(x.Places[i])+1)
}
