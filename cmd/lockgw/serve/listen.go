package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

// listen makes a socket in the directory, in place of one that a killed gateway
// has left. Nobody can connect before its permissions are those of the
// configuration.
func (d *socketDir) listen(name string) (net.Listener, error) {
	path := filepath.Join(d.path, name)
	if err := removeStale(path); err != nil {
		return nil, err
	}
	ln, err := listenClosed(path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	made, err := os.Lstat(path)
	if err != nil {
		_ = ln.Close()
		return nil, err
	}
	d.made = append(d.made, made)
	if err := d.openSocket(path); err != nil {
		_ = ln.Close()
		return nil, fmt.Errorf("set the group and the permissions of %s: %w", path, err)
	}
	return ln, nil
}

func (d *socketDir) openSocket(path string) error {
	if err := os.Chown(path, -1, d.gid); err != nil {
		return err
	}
	return os.Chmod(path, fs.FileMode(d.mode))
}

// listenClosed makes a socket that only root can connect to: bind gives the file
// the mode of the descriptor.
func listenClosed(path string) (net.Listener, error) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		return errors.Join(c.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), 0) }), err)
	}}
	ln, err := lc.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(false) // socketDir.Close removes it, still under the lock
	return ln, nil
}

// removeStale removes a socket on which nobody listens. The lock file alone does not tell that:
// a service manager that listens has locked nothing, and what cleans up may have removed the file.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("%s is in the way and is no socket; remove it", path)
	case cli.SocketIsOpen(path):
		return fmt.Errorf("%w: a process has %s open, perhaps systemd for a gateway; stop it first (systemctl stop 'lockgw*'), or choose another socket.dir", errDirInUse, path)
	}
	return os.Remove(path)
}
