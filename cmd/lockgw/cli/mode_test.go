package cli

import (
	"errors"
	"testing"
)

func TestConflict(t *testing.T) {
	if got, _ := ExitCode(Conflict(Exit(ExitNotAcquired, errors.New("x")), 0)); got != 0 {
		t.Errorf("not acquired with -E 0 = %d, want 0", got)
	}
	if got, _ := ExitCode(Conflict(Exit(ExitUnavailable, errors.New("x")), 0)); got != ExitUnavailable {
		t.Errorf("unavailable with -E 0 = %d, want %d", got, ExitUnavailable)
	}
}
