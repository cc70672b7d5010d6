package pgtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// release removes the segment of shared memory that a server leaves behind that was killed: the
// machine has room for a few thousand.
func (s *Server) release() {
	if id := s.segment(); id >= 0 {
		_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	}
}

// segment is the id of it; -1: there is none.
func (s *Server) segment() int {
	status, _ := os.ReadFile(filepath.Join(s.Data, "postmaster.pid"))
	if lines := strings.Split(string(status), "\n"); len(lines) > 6 {
		if key := strings.Fields(lines[6]); len(key) == 2 {
			if id, err := strconv.Atoi(key[1]); err == nil {
				return id
			}
		}
	}
	return -1
}
