package servertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Keeper is a server that keeps what it was told in a directory, and may be ended and started
// again with that.
type Keeper struct {
	T       testing.TB // that fails if the server does not; nil of one that nobody disturbs
	Addr    string     // host:port for clients, on loopback
	Data    string     // the directory of what it keeps
	Product string     // for people, such as ZooKeeper

	Command func() (*exec.Cmd, error) // that starts it
	Answers func() bool               // it serves
	Fill    func() error              // makes Data; nil: the server does so itself
	StopBy  syscall.Signal            // ends it in an orderly way
	Stays   bool                      // the test fails if it ends by itself

	Proc  *Process
	ended bool // it was meant to
}

// Start starts it at a free address and waits until it answers. It ends with the test.
func (k *Keeper) Start() {
	k.T.Helper()
	k.T.Cleanup(k.Kill)
	err := Tries(func() error {
		k.Addr = FreeAddrs(k.T, 1)[0]
		return k.launch()
	})
	if err != nil {
		k.T.Fatalf("start %s: %v", k.Product, err)
	}
}

// Tries has start try again where it fails: another process may take a free port first.
func Tries(start func() error) (err error) {
	for range 5 {
		if err = start(); err == nil {
			break
		}
	}
	return err
}

// Begin starts it, and Ready waits until it answers: several may need each other for that.
func (k *Keeper) Begin() error {
	cmd, err := k.Command()
	if err == nil {
		k.Proc, err = Launch(cmd)
	}
	return err
}

// Ready is that of its process.
func (k *Keeper) Ready() error { return k.Proc.Ready(k.Answers) }

func (k *Keeper) launch() error {
	err := k.Begin()
	if err == nil {
		err = k.Ready()
	}
	k.ended = err != nil // which says why
	return err
}

// Launch starts one that has ended, at the same address, with what it has on its disk.
func (k *Keeper) Launch() {
	k.T.Helper()
	if err := k.launch(); err != nil {
		k.T.Fatalf("start %s again: %v", k.Product, err)
	}
}

// Kill ends it and its processes at once, as a crash of the machine would but that the kernel has
// what was written, and waits until they are gone.
func (k *Keeper) Kill() {
	if k.Stays && k.Proc != nil && !k.Running() && !k.ended {
		k.T.Errorf("%s has ended by itself: %s", k.Product, k.Proc.Last())
	}
	k.ended = true
	k.Proc.Kill()
}

// Stop ends it in an orderly way; its clients are cut off.
func (k *Keeper) Stop() {
	k.T.Helper()
	k.ended = true
	k.Proc.Signal(k.T, k.StopBy)
	k.Proc.Ended(k.T)
}

// Running says that it has not ended.
func (k *Keeper) Running() bool { return k.Proc.Running() }

// Ended waits until it has ended by itself.
func (k *Keeper) Ended() { k.T.Helper(); k.Proc.Ended(k.T) }

// Restart kills it and starts it again with what it has on its disk.
func (k *Keeper) Restart() {
	k.T.Helper()
	k.Kill()
	k.Launch()
}

// RestartEmpty is Restart, and the disk is lost.
func (k *Keeper) RestartEmpty() { k.T.Helper(); k.restartWith(k.Fill) }

// Copy is what it has on its disk, which it must not be using: a directory for Restore.
func (k *Keeper) Copy() string {
	k.T.Helper()
	dir := filepath.Join(k.T.TempDir(), "copy")
	if err := CopyDir(k.Data, dir); err != nil {
		k.T.Fatal(err)
	}
	return dir
}

// Restore kills it and starts it again with what was copied.
func (k *Keeper) Restore(from string) {
	k.T.Helper()
	k.restartWith(func() error { return CopyDir(from, k.Data) })
}

func (k *Keeper) restartWith(fill func() error) {
	k.T.Helper()
	k.Kill()
	err := os.RemoveAll(k.Data)
	if err == nil {
		err = fill()
	}
	if err != nil {
		k.T.Fatalf("put in place what %s has: %v", k.Product, err)
	}
	k.Launch()
}

// Pause has it stand still, with its processes; its connections stay open.
func (k *Keeper) Pause() { k.T.Helper(); k.Proc.Pause(k.T) }

// Resume has a paused one go on.
func (k *Keeper) Resume() { k.T.Helper(); k.Proc.Resume(k.T) }
