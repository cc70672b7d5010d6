package serve

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// A service manager listens and has locked nothing. Who starts a gateway by hand must not cut its
// clients off, nor have it start its own.
func TestSocketOfServiceManager(t *testing.T) {
	dir := e2e.ShortDir(t)
	path := filepath.Join(dir, cli.RespSocket)
	f := listenFile(t, passedRESP, "unix", path)
	before := socketFiles(t, path)
	d := openTestDir(t, config.Socket{Dir: dir, Mode: 0o660})
	if ln, err := d.listen(cli.RespSocket); !errors.Is(err, errDirInUse) {
		t.Errorf("a socket on which somebody listens: %v, %v, want %v", ln, err, errDirInUse)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before[0], socketFiles(t, path)[0]) {
		t.Error("the socket was replaced")
	}
	came := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
	if n, err := unix.Poll(came, 0); n != 0 || err != nil {
		t.Errorf("%d connections have come (%v), want none", n, err)
	}
}

// What cleans up may remove a lock file, and leave the sockets beside it.
func TestSocketDirLockFileRemoved(t *testing.T) {
	dir := e2e.ShortDir(t)
	first := openTestDir(t, config.Socket{Dir: dir, Mode: 0o660})
	ln, err := first.listen(cli.RespSocket)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if err := os.Remove(filepath.Join(dir, cli.LockFile)); err != nil {
		t.Fatal(err)
	}
	second := openTestDir(t, config.Socket{Dir: dir, Mode: 0o660})
	if _, err := second.listen(cli.RespSocket); !errors.Is(err, errDirInUse) {
		t.Errorf("a second gateway: %v, want %v", err, errDirInUse)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", filepath.Join(dir, cli.RespSocket))
	if err != nil {
		t.Fatalf("the first gateway is not reached any more: %v", err)
	}
	conn.Close()
}

func TestSocketDirMadeAnew(t *testing.T) {
	dir := filepath.Join(e2e.ShortDir(t), "s")
	first := openTestDir(t, config.Socket{Dir: dir, Mode: 0o660})
	ln, err := first.listen(cli.RespSocket)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	second := openTestDir(t, config.Socket{Dir: dir, Mode: 0o660})
	theirs, err := second.listen(cli.RespSocket)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, cli.RespSocket)); err != nil {
		t.Errorf("the first gateway has removed the socket of the second: %v", err)
	}
}
