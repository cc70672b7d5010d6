// Package contender is what one node does about one lock name: who of its callers is
// let in, what it asks the store for, and when it says that something is lost. It is
// pure: no clock, no I/O, no goroutine. Every method takes the time and returns what
// has to be done (Effects); nothing else happens.
//
// A node stands in the store's queue once, however many callers it has. What it holds
// it shares out among them in the order in which they came:
//
//	          Enter                    let in               Accept (journaled)
//	caller ──────────▶ waiting ──────────────────▶ granted ────────────────────▶ told
//	                      ▲                           │                           │ Release
//	                      └─ hold lost before told ◀──┘                           ▼
//	                                                                     kept (MinHold), over
//
// The machine keeps a copy of the record that the store has. What it needs it derives
// from its callers (needs), computes the record that should be there (ledger.Step), and
// sends the difference; an answer brings a new copy, and it looks again. So there are
// no states to get lost in: whatever happens, the next write leads to what is needed.
//
// Rules that keep it right. Each is checked by the model (package model), which also
// shows what happens without it:
//
//   - Nothing but a Swap of its own that was written grants. Not a message, not a look,
//     not a join.
//   - A deadline counts from before the sending of the write or renewal that was
//     carried out, is looked at where a caller is told, and is final.
//   - A write without an answer may still be carried out. Until another one was
//     written, or another version was seen than the one it built on, "there is nothing
//     to write" is written all the same.
//   - From the sending of a write that gives back, nobody is let in until its outcome
//     is known.
//   - While another node waits, only those come in who stood at the head when that
//     became known, and no more than the block of fences has room for.
//   - A message grants and ends nothing. It causes a look, or brings the record that the next
//     write is tried over; one that comes while an answer is pending causes one more.
//   - The journal has a caller before it is told, and its end before that is told.
package contender

import (
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Config is the same for all contenders of a node.
type Config struct {
	Node string
	// Turns is how many callers are let in by one hold before the store is asked again:
	// the size of a block of fences.
	Turns int
	// TurnTime is how long a node goes on letting in after it knows that another waits.
	TurnTime time.Duration
	// Strict: first in, first out over all nodes. Turns is 1.
	Strict bool
	// Exact: the store has the owner of every turn before that is told.
	Exact bool
	// Offer is how long a node has to take what it was offered.
	Offer time.Duration
	// Retain is how long a hold that nobody here uses is kept, if nobody else waits.
	Retain time.Duration
	// Recall is how long one who does not want to wait waits for another node to give up a
	// name that it retains; 0: it is refused.
	Recall time.Duration
	// Delay is for how long nobody is granted a name that was lost.
	Delay time.Duration
	// Margin is how long before the end of a lease of ttl its holder counts it as over.
	Margin func(ttl time.Duration) time.Duration
	// MostWaiting is how many callers may wait; 0: any number.
	MostWaiting int
	// Retry is how long to wait after a request that got no answer; twice as long after
	// each further one, but no longer than RetryMost.
	Retry, RetryMost time.Duration
	// Restores: the store may have forgotten a hold, and is told of it again.
	Restores bool
}

// Contender of one name. Make it with New.
type Contender struct {
	cfg *Config

	// What the store has, as far as is known.
	copy    ledger.Record
	version ledger.Version
	deleted []backend.Fence // holds whose lock somebody outside lockgw has deleted or taken
	clock   int64           // of the store, at the time read
	read    time.Duration   // when the copy was received
	top     backend.Fence   // highest fence that this node has seen
	given   backend.Fence   // newest that a caller of this node was given

	// What was asked of it.
	flight     *Request
	unresolved bool            // a write got no answer and may still be carried out
	retryAt    time.Duration   // nothing is sent before
	pause      time.Duration   // after the last request without an answer
	look       bool            // ask, whatever the copy says
	nudged     bool            // told that others wait, while an answer was pending
	watch      bool            // see to it that offers to others are taken
	deaf       bool            // no messages arrive
	unheard    []backend.Fence // offers of which nobody heard
	leaving    bool            // nothing that we had is to remain
	bar        time.Duration   // to keep the name from everybody when we have left
	reclaiming backend.Fence   // the hold that the journal names, until the store has answered
	recovers   bool
	renewing   bool          // a renewal of the watchdog is under way
	asking     int           // renewals under way, those of callers among them
	least      time.Duration // shortest lease of the writes beside them; 0: there were none
	describe   bool          // the callers have to be written down
	intent     bool          // the journal says that something of ours may be in the store

	recall recall

	// What we hold, and for whom.
	hold  hold
	queue queue
	in    []*Caller // let in
	out   Effects   // to be returned
	now   time.Duration
	slow  bool // the newest hold was over as the answer came; for people
}

// hold is what the store has granted.
type hold struct {
	id       backend.Fence // 0: nothing
	mode     backend.Mode
	count    int // permits
	block    backend.Fence
	used     int // fences of the block
	ttl      time.Duration
	last     backend.Fence // newest that was given to a caller
	stamped  time.Duration // when the last write that set the lease was sent
	deadline time.Duration
	renewAt  time.Duration
	failing  bool          // the last renewal got no answer
	giving   bool          // a write that gives it back is under way or unresolved
	others   bool          // another node waits
	since    time.Duration // since when that is known
	allow    int           // how many may still come in while others wait
	idle     time.Duration // since when nobody uses it
	broken   bool          // a message said that it was ended by force
	fresh    bool          // nobody has been let in yet
	behind   bool          // by the store it ends before the deadline; see compare
}

// New makes the contender of a name of which this node knows nothing.
func New(cfg *Config) *Contender { return &Contender{cfg: cfg} }

// Quiet: there is nothing to do, and nothing of this node is in the store. The contender
// may be dropped; if it is kept, the next request needs no look first.
func (c *Contender) Quiet() bool {
	return c.flight == nil && !c.unresolved && !c.leaving && !c.recovers && !c.look && !c.watch &&
		c.hold.id == 0 && c.queue.len() == 0 && len(c.in) == 0 && !c.copy.Has(c.cfg.Node)
}
