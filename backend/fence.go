package backend

import "fmt"

// MaxFence is the largest fence. Beyond it numbers are not exact in Lua, JSON or
// JavaScript, so that two grants would have the same one.
const MaxFence Fence = 1<<53 - 1

// Spent is the ErrRefused of a name that no fence is left for, and what to do about it.
// counter is where the store keeps the newest one, and text what is there.
func Spent(counter, text string) error {
	return fmt.Errorf("%w: there is no fence after %.64q, which %s has: it has to be a number below 2^53, and somebody else has set it. "+
		"When nobody holds the lock, delete that; fences then begin at the time in microseconds again, so whatever remembers a larger one has to forget it",
		ErrRefused, text, counter)
}
