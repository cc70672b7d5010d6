package servertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Keeper is a server that keeps what it was told in a directory, and may be ended and started
// again with that.
type Keeper struct {
	T       testing.TB // that fails if the server does not; nil of one that nobody disturbs
	Dir     string     // what it keeps
	Product string     // for people, such as ZooKeeper

	Command func() (*exec.Cmd, error) // that starts it
	Answers func() bool               // it serves

	proc *Process
}

// Launch starts it, and Ready waits until it answers: several may need each other for that.
func (k *Keeper) Launch() error {
	cmd, err := k.Command()
	if err == nil {
		k.proc, err = Launch(cmd)
	}
	return err
}

// Ready is that of its process.
func (k *Keeper) Ready() error { return k.proc.Ready(k.Answers) }

// Kill ends it at once, as kill -9 does, and waits until it is gone.
func (k *Keeper) Kill() { k.proc.Kill() }

// Running says that it has not ended.
func (k *Keeper) Running() bool { return k.proc.Running() }

// Ended waits until it has ended by itself.
func (k *Keeper) Ended() { k.T.Helper(); k.proc.Ended(k.T) }

// Restart kills it and starts it again with what it has on its disk.
func (k *Keeper) Restart() {
	k.T.Helper()
	k.Kill()
	err := k.Launch()
	if err == nil {
		err = k.Ready()
	}
	if err != nil {
		k.T.Fatalf("start %s again: %v", k.Product, err)
	}
}

// Copy is what it has on its disk, which it must not be using: a directory for Restore.
func (k *Keeper) Copy() string {
	k.T.Helper()
	dir := filepath.Join(k.T.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(k.Dir)); err != nil {
		k.T.Fatal(err)
	}
	return dir
}

// Restore kills it and starts it again with what was copied.
func (k *Keeper) Restore(from string) {
	k.T.Helper()
	k.Kill()
	err := os.RemoveAll(k.Dir)
	if err == nil {
		err = os.CopyFS(k.Dir, os.DirFS(from))
	}
	if err != nil {
		k.T.Fatalf("put back what %s had: %v", k.Product, err)
	}
	k.Restart()
}

// Pause has it stand still; its connections stay open.
func (k *Keeper) Pause() { k.T.Helper(); k.proc.Pause(k.T) }

// Resume has a paused one go on.
func (k *Keeper) Resume() { k.T.Helper(); k.proc.Resume(k.T) }
