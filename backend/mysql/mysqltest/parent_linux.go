package mysqltest

import "syscall"

// dieWithParent has a server end with the test, however that ends.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
