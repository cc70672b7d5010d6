package serve

import (
	"errors"
	"testing"
)

// The first end is told, whichever it is; the errors of all are.
func TestActors(t *testing.T) {
	a, quit := newActors(), make(chan struct{})
	errFirst, errSecond := errors.New("first"), errors.New("second")
	a.start(func() error { <-quit; return errSecond })
	a.start(func() error { return errFirst })
	a.start(func() error { <-quit; return nil })
	a.first()
	close(quit)
	if err := a.wait(); !errors.Is(err, errFirst) || !errors.Is(err, errSecond) {
		t.Errorf("wait = %v, want both errors", err)
	}
}
