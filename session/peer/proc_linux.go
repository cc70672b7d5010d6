package peer

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
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

// owner is the real uid of the process pid.
func owner(pid int) (int, error) {
	st, err := readStatus(pid)
	return st.uid, err
}

// began says whether the process pid began before that time on session.Boottime, as
// far as a tick tells.
func began(pid int, before time.Duration) (bool, error) {
	start, err := readStart(pid)
	return start <= before, err
}

// tick is the unit of times in /proc, the same on every machine.
const tick = 10 * time.Millisecond

// readStart is when the process pid began, on CLOCK_BOOTTIME, rounded down to a
// tick.
func readStart(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	const began = 22 - 3 // the fields are counted from 1; after the name comes the 3rd
	name := bytes.LastIndexByte(b, ')')
	fields := bytes.Fields(b[name+1:])
	if name < 0 || len(fields) <= began {
		return 0, fmt.Errorf("start of process %d: %q is not understood", pid, b)
	}
	ticks, err := strconv.ParseInt(string(fields[began]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("start of process %d: %w", pid, err)
	}
	return time.Duration(ticks) * tick, nil
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

// command is the name of a process for people, "" if it is not known. A process chooses its
// name itself, so no decision may depend on it. It is asked for with each connection, so it
// is read without what os.ReadFile makes for it, 1.7 KB.
func command(pid int) string {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/comm", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var name [64]byte // the kernel gives no longer one
	n, err := unix.Read(fd, name[:])
	if err != nil {
		return ""
	}
	return string(bytes.TrimRight(name[:n], "\n"))
}
