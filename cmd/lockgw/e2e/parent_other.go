//go:build !linux

package e2e

import "syscall"

// dieWithParent does nothing: on this system, a test that is killed leaves its gateways.
func dieWithParent() *syscall.SysProcAttr { return nil }
