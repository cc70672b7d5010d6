package backend

import "time"

// HintKind says what a message from the store is about.
type HintKind int

const (
	// HintGranted: the name was passed to Slot, provisionally; confirm Fence.
	HintGranted HintKind = iota + 1
	// HintOthers: another contender began to wait for a name this node holds.
	HintOthers
	// HintWatch: the name was passed to the contender before Slot; ask again
	// after After if nothing was heard.
	HintWatch
	// HintFree: the name may be free, and was passed to nobody; ask again.
	HintFree
	// HintBroken: the hold that begins with Fence was ended by Break; renew it to
	// learn whether that is so.
	HintBroken
	// HintResync: messages may have been lost; ask again for every name.
	HintResync
)

// Hint is a message from the store to this node.
type Hint struct {
	Kind  HintKind
	Name  string
	Slot  string
	Fence Fence
	After time.Duration
}
