package quorum

import (
	"maps"
	"testing"
)

// Of a map that is full nothing is forgotten for what it has already, and all else for what is new.
func TestPut(t *testing.T) {
	var m map[string]int
	for _, step := range []struct {
		k    string
		want map[string]int
	}{
		{"a", map[string]int{"a": 0}},
		{"b", map[string]int{"a": 0, "b": 1}},
		{"a", map[string]int{"a": 2, "b": 1}},
		{"c", map[string]int{"c": 3}},
	} {
		if Put(&m, 2, step.k, step.want[step.k]); !maps.Equal(m, step.want) {
			t.Errorf("with %s there is %v, want %v", step.k, m, step.want)
		}
	}
}
