package run

import (
	"runtime"
	"sync"
)

// spareThreads is how many threads a run, or its guardian, needs at most while it does one thing
// after another. Those that wait in the kernel count: for the command, the guardian, /proc, stderr.
const spareThreads = 10

// haveThreads makes the threads that this process may need later. A Go program that is refused
// one ends at once, and a command that fills its limit of processes (ulimit -u, TasksMax, the pids
// of a container) would end both its run and the guardian, and go on without its locks. The
// runtime keeps threads for good, and on few processors it wants few.
func haveThreads() {
	runtime.GOMAXPROCS(min(2, runtime.GOMAXPROCS(0)))
	var all, ended sync.WaitGroup
	all.Add(spareThreads)
	for range spareThreads {
		ended.Go(func() {
			runtime.LockOSThread() // until all have theirs, nobody gives one to another
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait()
		})
	}
	ended.Wait()
}
