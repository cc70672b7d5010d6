package dialer_test

import (
	"testing"

	"github.com/lockgw/lockgw/backend/dialer"
)

func TestHostPort(t *testing.T) {
	for host, want := range map[string]string{ // "": refused
		"h": "h:7", "h:1": "h:1", "10.0.0.5": "10.0.0.5:7", "[::1]": "[::1]:7", "[::1]:1": "[::1]:1",
		"": "", ":1": "", "h:": "", "h:0": "", "h:65536": "", "h:x": "", "a b": "", "u@h": "", "[]": "", "[::1": "", "[::1]x": "",
		"fd00::1": "", "fd00::1:6379": "", "::1": "", "h:1:2": "",
	} {
		got, ok := dialer.HostPort(host, "7")
		if got != want || ok != (want != "") {
			t.Errorf("HostPort(%q) = %q, %t, want %q", host, got, ok, want)
		}
	}
}
