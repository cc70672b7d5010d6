package run

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// strays are processes below a command that have left its group: what timeout(1) starts, jobs
// under set -m, the command of a lockgw run inside. A parent that lives may pass a signal on to
// them, or need them to end well; so only those are asked to end that have lost theirs.
type strays struct {
	found map[int]stray
	seen  int // with those that have ended since
	// others are the children that this process had at first: later ones are of the command. nil:
	// there are none.
	others []int
}

type stray struct {
	fd     int // of the process: its number may be another's by now
	parent int // 0: it had ended before this one was found
	asked  bool
}

// since has children count that this process gets from now on.
func (s *strays) since() { s.others = append([]int{}, childrenOf(os.Getpid())...) }

// end kills those children, where nothing is known of a command.
func (s *strays) end() {
	ended := &process{done: make(chan struct{})}
	close(ended.done)
	s.look(ended)
	s.kill()
}

// adopt makes this process the parent of those who lose theirs from now on. So it finds who was
// begun after a look, and sees them end: the first process of a container often does not wait for
// its children, and as zombies they count as alive.
func (s *strays) adopt() {
	s.since()
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// look adds those that are below p, below those that were found before, or adopted.
func (s *strays) look(p *process) {
	if s.found == nil {
		s.found = map[int]stray{}
	}
	s.forget()
	select {
	case <-p.done:
	default:
		s.add(childrenOf(p.pid), p.pid, p.pid)
	}
	for pid := range s.found {
		s.add(childrenOf(pid), pid, p.pid)
	}
	if s.others != nil {
		adopted := slices.DeleteFunc(childrenOf(os.Getpid()), func(pid int) bool { return slices.Contains(s.others, pid) })
		s.add(adopted, 0, p.pid)
	}
}

// halt looks until there is nobody new, while p and who was found stand still. Otherwise who is
// begun between a look and the end of its parent is below nobody, and goes on. Of another user,
// who cannot be stopped, there may be new ones all the time: then it is not for long.
func (s *strays) halt(p *process) {
	for known, looks := -1, 0; known != s.seen && looks < 20; looks++ {
		known = s.seen
		p.signal(syscall.SIGSTOP)
		s.send(syscall.SIGSTOP)
		s.look(p)
	}
}

// add adds those of children, whom parent has, and of their descendants that are not in group.
func (s *strays) add(children []int, parent, group int) {
	for _, child := range children {
		if _, known := s.found[child]; known {
			continue
		}
		if its, err := unix.Getpgid(child); err == nil && its != group {
			fd, err := unix.PidfdOpen(child, 0)
			if err != nil {
				continue // it has ended
			}
			s.found[child] = stray{fd: fd, parent: parent}
			s.seen++
		}
		s.add(childrenOf(child), child, group)
	}
}

// forget drops those that have ended.
func (s *strays) forget() {
	for pid, one := range s.found {
		fds := []unix.PollFd{{Fd: int32(one.fd), Events: unix.POLLIN}}
		if n, _ := unix.Poll(fds, 0); n > 0 {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // one that was adopted; else it is no child
			_ = unix.Close(one.fd)
			delete(s.found, pid)
		}
	}
}

// ask sends sig to those whose parent has ended, once.
func (s *strays) ask(sig syscall.Signal) {
	for pid, one := range s.found {
		if one.asked || parentOf(pid) == one.parent {
			continue
		}
		one.asked = true
		s.found[pid] = one
		_ = unix.PidfdSendSignal(one.fd, sig, nil, 0)
		_ = unix.PidfdSendSignal(one.fd, unix.SIGCONT, nil, 0)
	}
}

// left tells whether there was one when look was called last.
func (s *strays) left() bool { return len(s.found) > 0 }

func (s *strays) kill() { s.send(syscall.SIGKILL) }

func (s *strays) send(sig syscall.Signal) {
	for _, one := range s.found {
		_ = unix.PidfdSendSignal(one.fd, sig, nil, 0)
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
