package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// The sockets of a gateway, in its socket.dir.
const (
	HTTPSocket = "http.sock"
	RespSocket = "resp.sock"
)

// systemSocketDir is where the gateway of a machine has its sockets.
func systemSocketDir() string {
	if runtime.GOOS == "linux" {
		return "/run/lockgw"
	}
	return "/var/run/lockgw"
}

// maxSocketPath is what the kernel's sockaddr_un has room for, less the final 0.
const maxSocketPath = len(unix.RawSockaddrUnix{}.Path) - 1

// DefaultSocketDir is the directory for sockets of whoever runs this process.
func DefaultSocketDir() string {
	if os.Geteuid() == 0 {
		return systemSocketDir()
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "lockgw")
	}
	return UserTempDir()
}

// UserTempDir is a directory name of this user among everybody's temporary files.
// The caller has to check whether it really belongs to this user.
func UserTempDir() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("lockgw-%d", os.Geteuid()))
}

// CheckSocketPath refuses what is too long to be bound.
func CheckSocketPath(path string) error {
	if len(path) > maxSocketPath {
		return fmt.Errorf("the socket path %s is %d bytes long, the kernel allows %d; choose a shorter socket.dir", path, len(path), maxSocketPath)
	}
	return nil
}

// SocketIsOpen tells whether a process has the stream socket open. It does not connect, which would
// have a service manager start its gateway: the kernel refuses the wrong type only where there is a socket.
func SocketIsOpen(path string) bool {
	conn, err := net.Dial("unixgram", path)
	if err == nil {
		_ = conn.Close()
		return true
	}
	return errors.Is(err, unix.EPROTOTYPE)
}

// LockFile in a socket directory is locked by the gateway that serves it.
const LockFile = "gateway.lock"

// CheckSafeDir refuses a directory in which a user other than uid and root could replace
// what is in it: a socket, or the journal.
func CheckSafeDir(path string, info fs.FileInfo, uid int) error {
	switch owner := ownerOf(info); {
	case owner != uid && owner != 0:
		return fmt.Errorf("%s belongs to the user with id %d, not to this one; choose another directory", path, owner)
	case info.Mode().Perm()&0o002 != 0:
		return fmt.Errorf("%s can be written by everybody, who could replace what is in it; "+
			"take that right away (chmod o-w), or, where it is as /tmp (chmod +t), name a directory below it, which the gateway then makes", path)
	}
	return nil
}

// OwnedBy says whether uid may change the rights of the file.
func OwnedBy(info fs.FileInfo, uid int) bool { return ownerOf(info) == uid }

func ownerOf(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
