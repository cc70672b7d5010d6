package e2e

import "syscall"

// dieWithParent has a gateway end with the test, however that ends.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
