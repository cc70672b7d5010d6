package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
)

// errDirInUse: another gateway serves the socket directory.
var errDirInUse = errors.New("another gateway serves this directory")

// socketDir is a directory that this process alone puts sockets into.
type socketDir struct {
	path string
	mode config.FileMode // of the sockets
	gid  int             // of the sockets; -1: the group of the process
	lock *os.File
	made []fs.FileInfo // the sockets
}

// openSocketDir makes the directory if it is missing and claims it. It refuses a
// directory in which others could replace a socket, or that another gateway
// serves.
func openSocketDir(c config.Socket) (*socketDir, error) {
	path, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("socket.dir: %w", err)
	}
	gid, err := c.GroupID()
	if err != nil {
		return nil, fmt.Errorf("socket.group: %w", err)
	}
	d := &socketDir{path: path, mode: c.Mode, gid: gid}
	if err := d.prepare(); err != nil {
		return nil, fmt.Errorf("socket.dir: %w", err)
	}
	if err := d.claim(); err != nil {
		return nil, fmt.Errorf("socket.dir: %w", err)
	}
	return d, nil
}

func (d *socketDir) prepare() error {
	dir, info, err := openSafeDir(d.path, d.mode.ForDir())
	if err != nil {
		return err
	}
	defer dir.Close()
	if !cli.OwnedBy(info, os.Geteuid()) {
		return nil // a directory that root made for this user is as root wants it
	}
	return d.letIn(dir, info.Mode().Perm())
}

// openSafeDir makes the directory path if it is missing, and opens it unless it is a link
// or somebody else could change what is in it.
func openSafeDir(path string, perm fs.FileMode) (*os.File, fs.FileInfo, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, nil, err
	}
	if err := os.Mkdir(path, perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, nil, err
	}
	dir, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return nil, nil, fmt.Errorf("%s is a symbolic link or no directory at all; name a directory", path)
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := dir.Stat()
	if err == nil {
		err = cli.CheckSafeDir(path, info, os.Geteuid())
	}
	if err != nil {
		dir.Close()
		return nil, nil, err
	}
	return dir, info, nil
}

// letIn opens a directory of our own to those whom the sockets are open to. The group of
// socket.group may not write in it: it could replace the sockets. It gets the directory last.
func (d *socketDir) letIn(dir *os.File, have fs.FileMode) error {
	want := have | d.mode.ForDir()
	if d.gid >= 0 {
		want &^= 0o020
	}
	if want != have {
		if err := dir.Chmod(want); err != nil {
			return err
		}
	}
	if d.gid < 0 {
		return nil
	}
	if err := dir.Chown(-1, d.gid); err != nil {
		return fmt.Errorf("give it to the group of socket.group: %w", err)
	}
	return nil
}

// claim takes the lock file of the directory, or says who has it.
func (d *socketDir) claim() error {
	f, err := os.OpenFile(filepath.Join(d.path, cli.LockFile), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		pid := make([]byte, 20)
		n, _ := f.Read(pid)
		_ = f.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		return fmt.Errorf("%w: %s, pid %s; stop it first, or choose another socket.dir", errDirInUse, d.path, pid[:n])
	}
	d.lock = f
	_ = f.Truncate(0) // the pid in it is for people alone
	_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	return nil
}

// Close removes the sockets and lets go of the directory. The lock file stays:
// removing it would let two gateways lock two files of one name. Where somebody has made the
// directory anew, the sockets in it may be those of another gateway.
func (d *socketDir) Close() error {
	var errs []error
	for _, made := range d.made {
		path := filepath.Join(d.path, made.Name())
		if there, err := os.Lstat(path); err != nil || !os.SameFile(there, made) {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	// to close the file is not enough: what this process is about to start has it open, too
	return errors.Join(append(errs, unix.Flock(int(d.lock.Fd()), unix.LOCK_UN), d.lock.Close())...)
}
