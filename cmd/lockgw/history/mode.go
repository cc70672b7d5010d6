package history

import "fmt"

// Mode says who may hold a name at the same time; n > 0 is a semaphore of n.
type Mode int

// The modes of a lock.
const (
	Exclusive Mode = 0
	Shared    Mode = -1
)

// Limit is the size of a semaphore; 0 of a lock.
func (m Mode) Limit() int { return max(int(m), 0) }

// String is as in the status of a lock.
func (m Mode) String() string {
	switch {
	case m == Exclusive:
		return "exclusive"
	case m == Shared:
		return "shared"
	default:
		return fmt.Sprintf("semaphore of %d", int(m))
	}
}
