package run

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// strays are processes below a command that have left its group: what timeout(1) starts, jobs
// under set -m, the command of a lockgw run inside. A parent that lives may pass a signal on to
// them, or need them to end well; so only those are asked to end that have lost theirs.
type strays map[int]stray

type stray struct {
	fd     int // of the process: its number may be another's by now
	parent int
	asked  bool
}

// look adds those that are below p, or below those that were found before.
func (s *strays) look(p *process) {
	if *s == nil {
		*s = strays{}
	}
	s.forget()
	select {
	case <-p.done:
	default:
		s.below(p.pid, p.pid)
	}
	for pid := range *s {
		s.below(pid, p.pid)
	}
}

// below adds the descendants of pid that are not in group.
func (s *strays) below(pid, group int) {
	for _, child := range childrenOf(pid) {
		if _, known := (*s)[child]; known {
			continue
		}
		if its, err := unix.Getpgid(child); err == nil && its != group {
			fd, err := unix.PidfdOpen(child, 0)
			if err != nil {
				continue // it has ended
			}
			(*s)[child] = stray{fd: fd, parent: pid}
		}
		s.below(child, group)
	}
}

// forget drops those that have ended.
func (s *strays) forget() {
	for pid, one := range *s {
		fds := []unix.PollFd{{Fd: int32(one.fd), Events: unix.POLLIN}}
		if n, _ := unix.Poll(fds, 0); n > 0 {
			_ = unix.Close(one.fd)
			delete(*s, pid)
		}
	}
}

// ask sends sig to those whose parent has ended, once.
func (s *strays) ask(sig syscall.Signal) {
	for pid, one := range *s {
		if one.asked || parentOf(pid) == one.parent {
			continue
		}
		one.asked = true
		(*s)[pid] = one
		_ = unix.PidfdSendSignal(one.fd, sig, nil, 0)
		_ = unix.PidfdSendSignal(one.fd, unix.SIGCONT, nil, 0)
	}
}

// left tells whether there was one when look was called last.
func (s strays) left() bool { return len(s) > 0 }

func (s *strays) kill() {
	for _, one := range *s {
		_ = unix.PidfdSendSignal(one.fd, unix.SIGKILL, nil, 0)
	}
}

// ownProc tells whether the numbers in /proc are those that this process knows. In a namespace of
// its own with the /proc of another one, as after unshare -p alone, they are those of others.
var ownProc = sync.OnceValue(func() bool {
	text, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := bytes.Cut(text, []byte("\nNSpid:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return len(bytes.Fields(line)) == 1 // one for each namespace, from that of /proc on
})

// childrenOf is read from /proc, where the kernel tells it (CONFIG_PROC_CHILDREN).
func childrenOf(pid int) (children []int) {
	if !ownProc() {
		return nil
	}
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range threads {
		text, _ := os.ReadFile(path)
		for field := range bytes.FieldsSeq(text) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}

// parentOf is 0 if the process is not there.
func parentOf(pid int) (parent int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	var state string
	_, _ = fmt.Sscan(string(text[bytes.LastIndexByte(text, ')')+1:]), &state, &parent)
	return parent
}
