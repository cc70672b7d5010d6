// Package backend has what all stores of locks share: what a lock and its holder are
// called, what a store can promise, and by which errors it answers. A store is a
// ledger.Table; package ledger has the rules by which it is changed.
package backend

import "time"

// Owner is the owner id UUID:thread, the value that every store sees.
type Owner string

// Fence is a fencing token: larger for every later grant of the same name, gaps
// allowed. It stays below 2^53. 0 means that the store cannot order grants.
type Fence uint64

// Mode says who may hold a name at the same time. A name has holds of one kind at a
// time: locks, which are Exclusive or Shared, or those of a semaphore of one size.
type Mode int

// The modes; n > 0 is a semaphore, which as many as n may hold.
const (
	Exclusive Mode = 0
	Shared    Mode = -1
)

// String is exclusive, shared or semaphore.
func (m Mode) String() string {
	switch {
	case m == Exclusive:
		return "exclusive"
	case m < 0:
		return "shared"
	default:
		return "semaphore"
	}
}

// Limit is the size of a semaphore; 0 of a lock.
func (m Mode) Limit() int { return max(int(m), 0) }

// MaxSeveral bounds how many callers of a hold are told, where several have a name.
const MaxSeveral = 20

// Node names one gateway to the store. Processes that come one after the other are the same
// node: a late request of an earlier one carries a version that is gone.
type Node struct {
	ID string // without '.', ' ' and ':'
}

// Info is what a store can promise. It does not change.
type Info struct {
	Type    string // "memory", "redis", ...
	Fencing bool   // grants carry a Fence
	Queue   bool   // a store-wide first-in first-out queue
	Push    bool   // messages; without them a waiter learns of a release by its timer
	Shared  bool   // other gateways and programs may see the same locks
	Modes   bool   // shared holds and semaphores; without, Exclusive alone
	// Restores: the store may forget a hold, and its holder can write it down again as
	// long as nobody can have been granted the name since.
	Restores bool
	MaxTTL   time.Duration // of a lease; 0: any
}

// Reach says, for people, whom a lock in the store keeps out.
func (i Info) Reach() string {
	if i.Shared {
		return "every machine whose gateway uses this store"
	}
	return "this machine only"
}
