// Package backend says what lockgw asks of a store.
//
// A Backend answers one question at a time and never waits: who waits, for how
// long, and what a failure means is decided in package session, once for all
// stores. A store keeps, for each lock name, its hold, or the holds that
// may be at the same time, and a first-in first-out queue of contenders. A contender is a node (one gateway process),
// or, where the order has to be exact over all nodes, one waiter of a node.
//
// A grant reaches a contender in one of two ways. In the answer to its own
// request it is a lease at once. By a message (Hint) it is provisional: the
// store holds the name for the contender for about a second, and only Confirm,
// a request of the contender's own, turns it into a lease. A hint may be late,
// doubled, lost or forged; it only ever causes a request.
package backend

import (
	"context"
	"time"
)

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

// Node names one gateway process to the store. A later process of the same
// node has a larger Incarnation; the store then refuses the earlier one.
type Node struct {
	ID          string // without '.', ' ' and ':'
	Incarnation uint64 // below 2^53
}

// A Request changes what the store keeps for one name. Each method says which
// fields it reads besides Name and Slot.
type Request struct {
	Name string
	// Slot tells the contenders of one node apart; empty where a node is one
	// contender.
	Slot string
	// Seq numbers the requests of a contender that can queue it or grant to it.
	// A lower number than the highest the store has seen is refused with
	// ErrStale; the same number is a repeat and has the effect of one request.
	Seq uint64
	// Hold is the first fence of the hold that the request is about. A request
	// about a hold that is over changes no other one.
	Hold Fence
	// Block is the first fence of the newest block known to the sender.
	Block Fence
	// Attempt is the Seq of the request by which the contender stands in the
	// queue or was granted the name.
	Attempt uint64
	Mode    Mode          // of the hold; where it is not Exclusive, Turns is 1
	Owner   Owner         // written into the lock as its holder
	Count   int           // how often Owner has entered, at least 1
	TTL     time.Duration // the lease
	Turns   int           // fences to reserve, at least 1
	Floor   Fence         // every fence granted is larger
	Queue   bool          // stand in the queue if the name cannot be had now
	Waiters int           // callers behind this contender, for Status
	Turn    Fence         // fence of the present turn, for Status
	Seen    string        // see Status
	Record  string        // about the holder, for Status; opaque to the store
	// Repeat: an earlier sending of this request had no answer, so the store may
	// have done already what it asks for.
	Repeat bool
	// Delay keeps the name from everybody for so long after a release.
	Delay time.Duration
}

// Answer to a Request that was not refused.
type Answer struct {
	// Granted: the sender has a lease of the TTL it asked for, counted from
	// before it sent the request. Hold and Block say which.
	Granted bool
	// Queued: the sender stands in the store's queue; without Info.Queue, it will be
	// told by HintFree.
	Queued bool
	Hold   Fence // first fence of the hold
	Block  Fence // first fence of the newest block; Turns of them are reserved
	Turns  int
	// Others: a contender of another node stands in the queue.
	Others bool
	// Ahead: so many contenders stand in the queue before the sender.
	Ahead int
	// Wait is how long the present hold, or the one of several that matters to the
	// sender, lasts if nobody prolongs it; when it is over, the sender should ask again. 0: unknown.
	Wait time.Duration
	// Provisional: the name was passed to another contender, which has to
	// confirm within Wait.
	Provisional bool
	// Holder is who has the name, where the answer is not a grant.
	Holder Status
}

// Renewal of one lease.
type Renewal struct {
	Name, Slot string
	Mode       Mode
	Hold       Fence
	TTL        time.Duration
}

// Status is what a store knows of one name.
type Status struct {
	Name    string
	Held    bool
	Foreign bool // held, but not through lockgw
	// Seen tells the holder outside lockgw from another, for Break; "": the store cannot.
	Seen    string
	Owner   Owner
	Count   int
	Node    string        // ID of the node that holds it
	Hold    Fence         // first fence of the hold
	Turn    Fence         // newest turn that the holding node has told the store of
	Top     Fence         // newest fence reserved, or given by a hold that is over; 0: forgotten
	TTL     time.Duration // rest of the lease; 0: free or without end
	Waiters int           // callers in the queue, as far as the store was told
	Record  string        // see Request.Record
	// Mode of the hold; Holders have the name, and the rest is about the newest of
	// them. 0: one has it, or nobody.
	Mode    Mode
	Holders int
	// Several is those who hold a name that is not held exclusively, the lowest fences
	// first and at most MaxSeveral of them. Inspect tells, List may; without Info.Queue
	// neither has to.
	Several []Holding
	// Head says whose contender stands first in the queue. Inspect tells where Info.Queue.
	Head Head
	// Refusing says why the store would not grant the name even if it is free, with
	// how long; "": it would. Inspect tells, List may.
	Refusing string
}

// Head is whose contender stands first in a queue.
type Head int

// The heads. HeadUntold: the store does not say, or nobody stands there.
const (
	HeadUntold Head = iota
	HeadOurs        // of the node that asks
	HeadTheirs
)

// MaxSeveral bounds Status.Several.
const MaxSeveral = 20

// Holding is one of the holds of a name that several have; see Status.
type Holding struct {
	Owner  Owner
	Count  int
	Node   string
	Fence  Fence // of the turn
	TTL    time.Duration
	Record string
}

// Info is what a store can promise. It does not change.
type Info struct {
	Type    string // "memory", "redis", ...
	Fencing bool   // grants carry a Fence
	Queue   bool   // a store-wide first-in first-out queue
	Push    bool   // hints; without them a waiter learns of a release by its timer
	Shared  bool   // other gateways and programs may see the same locks
	Modes   bool   // shared holds and semaphores; without, Acquire knows Exclusive alone
	// Restores: the store may forget a hold, and Reclaim by the holder brings it back
	// as long as nobody can have been granted the name since.
	Restores bool
	MinTTL   time.Duration
	MaxTTL   time.Duration // of a lease; 0: any
}

// Reach says, for people, whom a lock in the store keeps out.
func (i Info) Reach() string {
	if i.Shared {
		return "every machine whose gateway uses this store"
	}
	return "this machine only"
}

// Backend is a store as seen by one node.
//
// Every method may be called by many goroutines at once. Each returns
// ErrUnavailable when it has no answer by the end of ctx, and may be repeated
// then. All time inside a store is the store's own.
type Backend interface {
	// Acquire asks for the name. If it is free, or held in a Mode that lets the
	// sender in, and nobody reachable stands before the sender, it is granted: a hold
	// by Owner with a lease of TTL and a block of Turns fences, each larger than Floor
	// and than any fence before. ErrConflict. Otherwise the sender is queued if Queue, else the error is
	// ErrHeld and the Answer tells Wait.
	// A repeat after the grant grants the same hold again, with the lease set
	// anew, and does not touch what was described since; so does an Acquire that finds a provisional hold of its own
	// Attempt. A hold left over from an earlier number is dropped first.
	// Reads Seq, Mode, Owner, TTL, Turns, Floor, Queue, Waiters, Record.
	Acquire(ctx context.Context, r Request) (Answer, error)
	// Confirm turns the provisional hold Hold into a lease of TTL by Owner and
	// takes the sender out of the queue. ErrNotHeld: it has run out.
	// Reads Hold, Owner, TTL, Turn, Record.
	Confirm(ctx context.Context, r Request) (Answer, error)
	// Extend reserves the next block of Turns fences under Hold and renews the
	// lease by TTL, unless another contender waits. Then, with Queue, it lets
	// go of the name, queues the sender at the end and passes the name on: the
	// answer is as for Acquire. Without Queue it only answers Others.
	// A repeat, told by Block, returns the block that was reserved.
	// ErrNotHeld: Hold is over.
	// Reads Seq, Hold, Block, TTL, Turns, Floor, and with Queue what Acquire reads.
	Extend(ctx context.Context, r Request) (Answer, error)
	// Release drops Hold and passes the name to the first reachable contender.
	// With Queue the sender is queued at the end before that, and the answer is
	// as for Acquire. A hold that is already over is no error. Turn is the last
	// fence given under Hold; reserved ones after it count as never granted. What
	// a late repeat of Attempt, by which Hold was granted, has left goes with it.
	// Reads Seq, Hold, Attempt, Turn, Delay, and with Queue what Acquire reads.
	Release(ctx context.Context, r Request) (Answer, error)
	// Cancel takes the sender out of the queue, or lets go of what it was
	// granted there: after it, the sender has nothing of Attempt or Hold.
	// Reads Seq, Attempt, Hold.
	Cancel(ctx context.Context, r Request) error
	// Reclaim is the first request of a later incarnation for a name of which the
	// earlier one may have left something. It adopts Hold, renews it by TTL and
	// reserves a block of Turns fences; Granted says that it did, and Owner, Count,
	// Turn and Record are as for Describe. What else was left of the sender, a place
	// in the queue, a hold, is dropped and passed on, as by Release. Hold 0 names
	// none. A store that lives in the gateway and knows nothing of the name yet
	// believes what it is told. So does one that Restores and may have forgotten, if
	// it knows of no fence above Floor.
	// Reads Seq, Mode, Hold, Block, TTL, Turns, Floor, Owner, Count, Turn, Record.
	Reclaim(ctx context.Context, r Request) (Answer, error)
	// Break takes the name from one who holds it, through lockgw or not, if Turn is
	// the fence that Inspect tells of that hold (Turn, or Top of one outside lockgw). One
	// outside lockgw has no fence of its own: it has to be what Inspect told in Seen, with
	// no more than TTL left. ErrConflict: what has the name is no lock as far as can be told.
	// It goes on as Release does; the node that held the name hears HintBroken.
	// ErrNotHeld: nobody holds it. ErrFence. Reads Turn, Delay, Seen, TTL.
	Break(ctx context.Context, r Request) (Answer, error)
	// Promote passes a free name to the first reachable contender, as when a
	// provisional hold has run out. Wait tells when to look again, 0: never.
	Promote(ctx context.Context, name string) (Answer, error)
	// Describe writes Owner, Count, Turn and Record into Hold, unless the store has
	// seen a Describe of Hold with a higher Seq. ErrNotHeld: Hold is over.
	// Reads Seq, Hold, Owner, Count, Turn, Record.
	Describe(ctx context.Context, r Request) error
	// Renew has the lease of each hold last for its TTL from now on, or longer
	// if it did already: a late renewal cannot undo a later one. The errors are
	// in the order of rs, nil or ErrNotHeld, or ErrUnavailable or ErrRefused for one
	// lease alone; the second result is set when there is no answer at all.
	Renew(ctx context.Context, rs []Renewal) ([]error, error)
	// Inspect reads one name.
	Inspect(ctx context.Context, name string) (Status, error)
	// List reads names held or waited for through lockgw that begin with
	// prefix, about limit of them, in no order. cursor is "" at first, then
	// what the last call returned; "" is returned at the end. ErrPartly: names that
	// the call should have told are missing, and what it returns counts.
	List(ctx context.Context, prefix, cursor string, limit int) (names []Status, next string, err error)
	// Listen has hints delivered to f, which must not block. It is called once,
	// before any request.
	Listen(f func(Hint))
	// Ping asks the store whether it can serve requests. ErrPartly: it can, some.
	Ping(ctx context.Context) error
	// Info tells what the store can promise.
	Info() Info
	// Close ends what the Backend has started. Holds stay until their lease ends.
	Close() error
}
