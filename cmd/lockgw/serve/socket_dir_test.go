package serve

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

func openTestDir(t *testing.T, c config.Socket) *socketDir {
	t.Helper()
	d, err := openSocketDir(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestSocketModes(t *testing.T) {
	for _, tt := range []struct {
		socket  config.FileMode
		wantDir fs.FileMode
	}{{0o600, 0o700}, {0o660, 0o750}, {0o666, 0o755}} {
		dir := filepath.Join(e2e.ShortDir(t), "made", "here")
		d := openTestDir(t, config.Socket{Dir: dir, Mode: tt.socket})
		if _, err := d.listen(cli.RespSocket); err != nil {
			t.Fatal(err)
		}
		if got := modeOf(t, dir); got != tt.wantDir {
			t.Errorf("sockets of mode %v: directory has %#o, want %#o", tt.socket, got, tt.wantDir)
		}
		if got := modeOf(t, filepath.Join(dir, cli.RespSocket)); got != fs.FileMode(tt.socket) {
			t.Errorf("socket has mode %#o, want %v", got, tt.socket)
		}
		if got := modeOf(t, filepath.Join(dir, cli.LockFile)); got != 0o600 {
			t.Errorf("lock file has mode %#o, want 0600", got)
		}
	}
}

// Between bind and chmod nobody may get in.
func TestSocketIsMadeClosed(t *testing.T) {
	path := filepath.Join(e2e.ShortDir(t), "s")
	ln, err := listenClosed(path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if got := modeOf(t, path); got != 0 {
		t.Errorf("the socket is made with mode %#o, want 0", got)
	}
}

// A directory that is there already is opened as far as the sockets need it.
func TestSocketDirExists(t *testing.T) {
	dir := e2e.ShortDir(t)
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	openTestDir(t, config.Socket{Dir: dir, Mode: 0o660})
	if got := modeOf(t, dir); got != 0o750 {
		t.Errorf("mode = %#o, want 0750", got)
	}
}

func TestSocketGroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may give a file to any group")
	}
	dir := filepath.Join(e2e.ShortDir(t), "s")
	d := openTestDir(t, config.Socket{Dir: dir, Mode: 0o660, Group: "12345"})
	if _, err := d.listen(cli.RespSocket); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, cli.RespSocket)} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Sys().(*syscall.Stat_t).Gid; got != 12345 {
			t.Errorf("group of %s = %d, want 12345", path, got)
		}
	}
}

// Who may connect must not be able to replace the sockets, as in a directory that somebody with
// umask 002 has made.
func TestSocketGroupCannotWrite(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may give a directory to any group")
	}
	dir := e2e.ShortDir(t)
	if err := os.Chmod(dir, 0o775); err != nil {
		t.Fatal(err)
	}
	openTestDir(t, config.Socket{Dir: dir, Mode: 0o660, Group: "12345"})
	if got := modeOf(t, dir); got != 0o755 {
		t.Errorf("mode = %#o, want 0755", got)
	}
}

func TestSocketDirForeign(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may give a directory away")
	}
	dir := e2e.ShortDir(t)
	if err := os.Chown(dir, 4711, -1); err != nil {
		t.Fatal(err)
	}
	_, err := openSocketDir(config.Socket{Dir: dir, Mode: 0o660})
	if err == nil || !strings.Contains(err.Error(), "belongs to the user with id 4711") {
		t.Errorf("a directory of another user: %v, want a refusal that names the user", err)
	}
	if _, err := os.Stat(filepath.Join(dir, cli.LockFile)); err == nil {
		t.Error("a file was made in a directory of another user")
	}
}

// Whoever owns the directory above could put another one in the place of the state directory.
func TestStateBelowForeignDir(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may give a directory away")
	}
	t.Setenv("TMPDIR", t.TempDir())
	state := filepath.Join(cli.UserTempDir(), "state") // of a user without HOME
	if err := prepareStateDir(state); err != nil {
		t.Fatal(err)
	}
	if got := modeOf(t, cli.UserTempDir()); got != 0o700 {
		t.Errorf("mode of the directory above = %v, want it closed", got)
	}
	if err := os.Chown(cli.UserTempDir(), 4711, -1); err != nil {
		t.Fatal(err)
	}
	if err := prepareStateDir(state); err == nil || !strings.Contains(err.Error(), "belongs to the user with id 4711") {
		t.Errorf("below a directory of another user: %v, want a refusal that names the user", err)
	}
}

func TestSocketDirInUse(t *testing.T) {
	dir := e2e.ShortDir(t)
	first := openTestDir(t, config.Socket{Dir: dir, Mode: 0o660})
	_, err := openSocketDir(config.Socket{Dir: dir, Mode: 0o660})
	if !errors.Is(err, errDirInUse) {
		t.Errorf("second gateway: %v, want %v", err, errDirInUse)
	}
	started, err := syscall.Dup(int(first.lock.Fd())) // what a process is about to start has it open, too
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(started)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	openTestDir(t, config.Socket{Dir: dir, Mode: 0o660})
}

// A lock file that is a link could be a file of somebody else.
func TestSocketDirLockLink(t *testing.T) {
	dir := e2e.ShortDir(t)
	target := filepath.Join(t.TempDir(), "target")
	if err := os.Symlink(target, filepath.Join(dir, cli.LockFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := openSocketDir(config.Socket{Dir: dir, Mode: 0o660}); err == nil {
		t.Error("a lock file that is a symbolic link was accepted")
	}
	if _, err := os.Stat(target); err == nil {
		t.Error("a file was made where the link points to")
	}
}

func TestStaleSocket(t *testing.T) {
	dir := e2e.ShortDir(t)
	path := filepath.Join(dir, cli.RespSocket)
	left, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	left.Close()

	d := openTestDir(t, config.Socket{Dir: dir, Mode: 0o660})
	ln, err := d.listen(cli.RespSocket)
	if err != nil {
		t.Fatalf("with a stale socket: %v", err)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	c.Close()
	ln.Close()
	if err := d.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after close: %v, want the socket to be gone", err)
	}
}
