//go:build !linux

package run

import "syscall"

// strays are found by /proc alone.
type strays struct{}

// since and end do nothing: on these systems the run starts the command.
func (*strays) since() {}
func (*strays) end()   {}

// adopt does nothing: on these systems the first process waits for orphans.
func (*strays) adopt() {}

func (*strays) look(*process)       {}
func (*strays) halt(*process)       {}
func (*strays) ask(syscall.Signal)  {}
func (*strays) send(syscall.Signal) {}
func (*strays) kill()               {}
func (*strays) left() bool          { return false }

func childrenOf(int) []int { return nil }
