package e2e

import "syscall"

// dieWithParent has the kernel kill a gateway when the test ends, however it ends.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
