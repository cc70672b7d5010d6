package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// The sockets of a gateway, in its socket.dir.
const (
	httpSocket = "http.sock"
	respSocket = "resp.sock"
)

// systemSocketDir is where the gateway of a machine has its sockets.
const systemSocketDir = "/run/lockgw"

// maxSocketPath is what the kernel's sockaddr_un has room for, less the final 0.
const maxSocketPath = 107

// defaultSocketDir is the directory for sockets of whoever runs this process.
func defaultSocketDir() string {
	if os.Geteuid() == 0 {
		return systemSocketDir
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "lockgw")
	}
	return userTempDir()
}

// userTempDir is a directory name of this user among everybody's temporary files.
// Whether it is really this user's has to be checked by who uses it.
func userTempDir() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("lockgw-%d", os.Geteuid()))
}

func checkSocketPath(path string) error {
	if len(path) > maxSocketPath {
		return fmt.Errorf("the socket path %s is %d bytes long, the kernel allows %d; choose a shorter socket.dir", path, len(path), maxSocketPath)
	}
	return nil
}
