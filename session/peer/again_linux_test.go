package peer

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/session"
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
	done := live(t.Context(), alive)
	stillLives(t, done)
	_ = child.Process.Kill()
	ended(t, done)
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

// withoutDescriptors has f run while this process can open nothing.
func withoutDescriptors(t *testing.T, f func()) {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
	}()
	f()
}

// A gateway that comes back with fewer descriptors than it had takes nobody for dead whom it
// cannot watch.
func TestAgainWithoutDescriptor(t *testing.T) {
	child := start(t, 0, "sleep", "60")
	dead := start(t, 0, "sleep", "60")
	is, err := Identify(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	gone, err := Identify(dead.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	kill(t, dead)
	d := NewDescriptors()
	var alive session.Liveness
	withoutDescriptors(t, func() {
		if alive, err = d.Again(is, me()); err != nil {
			t.Fatalf("a process that lives: %v", err)
		}
		if _, err := d.Again(gone, me()); err == nil {
			t.Error("a process that is gone was found again")
		}
		if d.used != 0 {
			t.Errorf("%d descriptors on account, want none", d.used)
		}
	})
	done := live(t.Context(), alive)
	stillLives(t, done)
	kill(t, child)
	ended(t, done)
}

func TestAgainUnseenEndsWithItsContext(t *testing.T) {
	var alive session.Liveness
	is, err := Identify(me().PID)
	if err != nil {
		t.Fatal(err)
	}
	withoutDescriptors(t, func() { alive, err = NewDescriptors().Again(is, me()) })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := live(ctx, alive)
	cancel()
	if err := ended(t, done); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want %v", err, context.Canceled)
	}
}

// A gateway that comes back where it cannot see a process any more, as with hidepid or
// ProtectProc=, does not take it for dead: its handle says that it lives.
func TestAgainUnseen(t *testing.T) {
	asRoot(t)
	child := start(t, 0, "sleep", "60")
	is, err := Identify(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	nowhere := t.TempDir()
	again := func() (alive session.Liveness, err error) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // which ends with this function, and has no /proc until then
			if err = errors.Join(unix.Unshare(unix.CLONE_FS), unix.Chroot(nowhere)); err == nil {
				alive, err = NewDescriptors().Again(is, me())
			}
		}()
		<-done
		return alive, err
	}
	alive, err := again()
	if err != nil {
		t.Fatalf("a process that lives, and cannot be seen: %v", err)
	}
	done := live(t.Context(), alive)
	stillLives(t, done)
	kill(t, child)
	ended(t, done)
	if _, err := again(); err == nil {
		t.Error("a process that is gone was found again")
	}
}
