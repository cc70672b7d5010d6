package peer

import (
	"context"
	"errors"
	"os/exec"
	"testing"
	"time"
)

func TestAgain(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	is, err := Identify(child.Process.Pid)
	if err != nil || is.PID != child.Process.Pid || is.Started <= 0 {
		t.Fatalf("identify = %+v, %v", is, err)
	}
	alive, err := NewDescriptors().Again(is, me())
	if err != nil {
		t.Fatal(err)
	}
	other := is
	other.Started += tick
	if _, err := NewDescriptors().Again(other, me()); err == nil {
		t.Error("another process of the same number was taken for it")
	}
	ended := make(chan error, 1)
	go func() { ended <- alive(context.Background()) }()
	_ = child.Process.Kill()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("no reason")
		}
	case <-time.After(time.Minute):
		t.Fatal("its death was not noticed")
	}
	_ = child.Wait()
	if _, err := NewDescriptors().Again(is, me()); err == nil {
		t.Error("a process that is gone was found again")
	}
	if _, err := Identify(is.PID); err == nil {
		t.Error("a process that is gone was identified")
	}
	alive, err = NewDescriptors().Again(is, me())
	if err == nil && errors.Is(alive(t.Context()), nil) {
		t.Error("alive")
	}
}
