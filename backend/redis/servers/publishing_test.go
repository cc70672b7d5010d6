package servers

import (
	"testing"
)

func TestPublishing(t *testing.T) {
	for _, tt := range []struct {
		text    string
		cluster bool
		want    Publishing
	}{
		{"", false, publish}, {"auto", false, publish}, {"publish", false, publish},
		{"", true, spublish}, {"auto", true, spublish}, {"publish", true, publish}, {"spublish", true, spublish}, {"both", true, both},
		{"spublish", false, ""}, {"both", false, ""}, {"never", true, ""}, {"never", false, ""},
	} {
		got, err := ReadPublishing(tt.text, tt.cluster)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%q, cluster %v: %q, %v, want %q", tt.text, tt.cluster, got, err, tt.want)
		}
	}
}
