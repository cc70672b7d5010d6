//go:build !linux

package mysqltest

import "syscall"

// dieWithParent is not to be had here: a test that is killed leaves its servers.
func dieWithParent() *syscall.SysProcAttr { return nil }
