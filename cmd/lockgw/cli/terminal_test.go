package cli

import (
	"testing"
)

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		text    string
		columns int
		want    string
	}{{"abc", 4, "abc"}, {"abc", 3, "ab"}, {"äöü", 3, "äö"}, {"abc", 0, ""}} {
		if got := Cut(tt.text, tt.columns); got != tt.want {
			t.Errorf("cut(%q, %d) = %q, want %q", tt.text, tt.columns, got, tt.want)
		}
	}
}
