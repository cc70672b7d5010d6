package peer

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// status is what /proc/PID/status tells of a process.
type status struct {
	uid    int // the real one
	levels int // pid namespaces the process has a number in, from /proc's own on
}

func readStatus(pid int) (status, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return status{}, err
	}
	uid, err := strconv.Atoi(string(first(field(b, "Uid:"))))
	if err != nil {
		return status{}, fmt.Errorf("uid of process %d: %w", pid, err)
	}
	return status{uid: uid, levels: len(bytes.Fields(field(b, "NSpid:")))}, nil
}

// field is the rest of the line that begins with name.
func field(b []byte, name string) []byte {
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			return rest
		}
	}
	return nil
}

func first(b []byte) []byte {
	if f := bytes.Fields(b); len(f) > 0 {
		return f[0]
	}
	return nil
}

// command is the name of a process for people, or nothing. A process chooses its
// name itself, so nothing may be decided by it.
func command(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return string(bytes.TrimRight(b, "\n"))
}
