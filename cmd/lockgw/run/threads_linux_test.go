package run

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

func init() { programs["block-threads"] = blockThreads }

// blockThreads is a program that prints its threads, and again when as many of them as haveThreads
// is to make wait in the kernel.
func blockThreads() {
	haveThreads()
	before := threadsOf(os.Getpid())
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		panic(err)
	}
	var began atomic.Int32
	var ended sync.WaitGroup
	for range spareThreads - 2 { // two processors go on beside those that wait
		ended.Go(func() {
			began.Add(1)
			_ = waitExit(pipe[0])
		})
	}
	for began.Load() < spareThreads-2 {
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
	}
	fmt.Println(before, threadsOf(os.Getpid()))
	_ = unix.Close(pipe[1])
	ended.Wait()
}

func threadsOf(pid int) int {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	return len(tasks)
}

// A process that has its threads makes no others for those that wait. (The runtime may still make
// one or two for itself, as the first collection of garbage does.)
func TestHaveThreads(t *testing.T) {
	out, err := exec.Command("block-threads").Output()
	var before, after int
	if err == nil {
		_, err = fmt.Sscan(string(out), &before, &after)
	}
	if err != nil || before < spareThreads || after > before+2 {
		t.Errorf("threads before and after %q (%v), want at least %d, and at most two more", out, err, spareThreads)
	}
}

// The run and its guardian have their threads before the command can take the last ones.
func TestRunHasThreads(t *testing.T) {
	cmd := exec.Command("lockgw", "run", "a", "-q", "--socket", filepath.Join(e2e.ShortDir(t), "none"), "--on-unavailable", "run", "--",
		"sh", "-c", `for pid in $PPID $(cat /proc/$PPID/task/*/children); do [ $pid = $$ ] || ls /proc/$pid/task | wc -l; done`)
	out, err := cmd.Output()
	var run, guardian int
	if err == nil {
		_, err = fmt.Sscan(string(out), &run, &guardian)
	}
	if err != nil || run < spareThreads+2 || guardian < spareThreads+2 {
		t.Errorf("threads of run and guardian %q (%v), want more than %d each", out, err, spareThreads+1)
	}
}
