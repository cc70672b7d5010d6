package peer

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// leaderless, in the environment, makes this program a process whose first thread
// exits at once, while another goes on until its standard input ends.
const leaderless = "LOCKGW_TEST_LEADERLESS"

func init() {
	if os.Getenv(leaderless) == "" {
		return
	}
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}()
	runtime.LockOSThread()
	_, _, _ = unix.Syscall(unix.SYS_EXIT, 0, 0, 0) // this thread alone; as a system call, so that the others go on
}

// A process lives as long as any of its threads, be it not the one that has given
// the process its number.
func TestProcessWithoutLeader(t *testing.T) {
	t.Setenv(leaderless, "1")
	child := start(t, 0, os.Args[0])
	zombified(t, child.Process.Pid) // so it looks, by its first thread
	alive, err := NewDescriptors().Process(child.Process.Pid, me())
	if err != nil {
		t.Fatal(err)
	}
	done := live(t.Context(), alive)
	stillLives(t, done)
	kill(t, child)
	ended(t, done)
}

// The end of the thread that was served is not the end of its process.
func TestProcessOfExitedThread(t *testing.T) {
	named := make(chan (<-chan error))
	go func() {
		runtime.LockOSThread() // never unlocked: the thread exits with this goroutine
		alive, err := NewDescriptors().Process(os.Getpid(), me())
		if err != nil {
			t.Error(err)
		}
		named <- live(t.Context(), alive)
	}()
	done := <-named
	stillLives(t, done)
}
