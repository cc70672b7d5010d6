package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/backend/redis/examine"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
)

const (
	openFiles = "open files"
	fewFiles  = 8192     // each connection of a client takes one
	fewBytes  = 64 << 20 // the journal is rewritten into a second file
	stateLock = "lock"   // in state_dir; package journal locks it
)

// examineMachine looks at what a gateway of this configuration needs here, with Unix sockets
// that were passed to it or without. It changes nothing.
func examineMachine(c config.Config, passed bool) []finding {
	socket, state := examineSocketDir(c.Socket.Dir), examineStateDir(c.StateDir)
	if passed {
		socket = finding{examine.OK, socket.Check, "not needed: the service manager has passed the Unix sockets", ""}
	}
	if state.Level != examine.Fail {
		state = checkSpace(c.StateDir, state)
	}
	return []finding{checkFiles(), socket, state}
}

func checkFiles() finding {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return finding{examine.Fail, openFiles, err.Error(), "see why this process may not ask for its limits"}
	}
	return filesFinding(unsigned(limit.Max)) // up to which Go raises the other limit by itself
}

// unsigned: what is never below 0 is signed on some systems.
func unsigned[N int32 | uint32 | int64 | uint64](n N) uint64 { return uint64(n) }

func filesFinding(limit uint64) finding {
	detail := fmt.Sprintf("up to %d at a time", limit)
	if limit < fewFiles {
		return finding{examine.Warn, openFiles, detail + "; each connection of a client takes one", "raise ulimit -n, or LimitNOFILE of the service"}
	}
	return finding{examine.OK, openFiles, detail, ""}
}

func examineSocketDir(dir string) finding {
	return examineDir("socket.dir", dir, cli.LockFile, cli.HTTPSocket, cli.RespSocket)
}

func examineStateDir(dir string) finding { return examineDir("state_dir", dir, stateLock) }

// examineDir is about a directory of the gateway, whose key is check. See dirFinding.
func examineDir(check, dir, lock string, sockets ...string) finding {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return parentFinding(check, dir)
	case err != nil:
		return finding{examine.Fail, check, err.Error(), "choose another " + check}
	case !info.IsDir():
		return finding{examine.Fail, check, dir + " is no directory", "remove it, or choose another " + check}
	}
	if err := cli.CheckSafeDir(dir, info, os.Geteuid()); err != nil {
		return finding{examine.Fail, check, err.Error(), "choose another " + check + ", or run as its owner"}
	}
	return dirFinding(check, dir, lock, sockets...)
}

// parentFinding is about a directory that the gateway has to make.
func parentFinding(check, dir string) finding {
	parent := filepath.Dir(dir)
	for {
		if _, err := os.Stat(parent); err == nil || parent == filepath.Dir(parent) {
			break
		}
		parent = filepath.Dir(parent)
	}
	if err := writable(parent); err != nil {
		return finding{
			examine.Fail, check, fmt.Sprintf("%s is not there and cannot be made: %v", dir, err),
			toWrite(check, err, fmt.Sprintf("as root: install -d -o %d -m 0755 %s", os.Geteuid(), dir)),
		}
	}
	return finding{examine.OK, check, dir + " is not there yet and can be made", ""}
}

// dirFinding is about a directory that is there, and in which a gateway locks a file, but a service
// manager that holds its sockets does not.
func dirFinding(check, dir, lock string, sockets ...string) finding {
	if err := writable(dir); err != nil {
		return finding{examine.Fail, check, err.Error(), toWrite(check, err, fmt.Sprintf("run as its owner, or: chown %d %s", os.Geteuid(), dir))}
	}
	taken, err := isLocked(filepath.Join(dir, lock))
	switch {
	case err != nil:
		return finding{examine.Fail, check, err.Error(), "run as the user of the gateway"}
	case taken:
		return finding{examine.OK, check, dir + " is in use by a running gateway", ""}
	case slices.ContainsFunc(sockets, func(name string) bool { return cli.SocketIsOpen(filepath.Join(dir, name)) }):
		return finding{examine.OK, check, dir + " is in use: the service manager listens there for a gateway", ""}
	default:
		return finding{examine.OK, check, dir + " can be written and is free", ""}
	}
}

func writable(dir string) error {
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("this user may not write in %s: %w", dir, err)
	}
	return nil
}

// toWrite is how err of writable is mended: by rights, unless nobody may write there, whatever their
// rights.
func toWrite(check string, err error, rights string) string {
	if errors.Is(err, unix.EROFS) {
		return "mount it for writing (under systemd: ReadWritePaths= of the service), or choose another " + check
	}
	return rights
}

// isLocked tells whether a process has locked the file. A gateway that starts while
// this looks, for some microseconds, takes it for another one.
func isLocked(path string) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// checkSpace warns where f, about dir, does not fit on the disk.
func checkSpace(dir string, f finding) finding {
	var disk unix.Statfs_t
	for unix.Statfs(dir, &disk) != nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	return spaceFinding(f, unsigned(disk.Bavail)*unsigned(disk.Bsize))
}

func spaceFinding(f finding, free uint64) finding {
	f.Detail += fmt.Sprintf("; %d MiB of the disk are free", free>>20)
	if free < fewBytes {
		f.Level, f.Remedy = examine.Warn, "make room: locks do not outlive a gateway that cannot write its journal"
	}
	return f
}
