package cli

import (
	"syscall"
	"testing"
)

func TestParseSignal(t *testing.T) {
	for text, want := range map[string]syscall.Signal{
		"TERM": syscall.SIGTERM, "SIGTERM": syscall.SIGTERM, "int": syscall.SIGINT, "9": syscall.SIGKILL, "USR1": syscall.SIGUSR1,
		"": 0, "0": 0, "SIG": 0, "NOSUCH": 0, "-9": 0, "09": 0, "64000": 0,
	} {
		got, err := parseSignal(text)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("parseSignal(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
}
