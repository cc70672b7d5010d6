//go:build !linux

package e2e

import "syscall"

// dieWithParent is not to be had here: a test that is killed leaves its gateways.
func dieWithParent() *syscall.SysProcAttr { return nil }
