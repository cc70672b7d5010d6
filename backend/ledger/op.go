package ledger

import (
	"fmt"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// Verb says what an Op is about.
type Verb int

const (
	// Sync tells what the node still uses of its hold and what it wants besides. It is
	// acquiring, confirming an offer, extending a block, yielding and queueing in one.
	Sync Verb = iota
	// Leave lets go of what the node has, and of its place in the queue unless it wants the name.
	// It is offered that then, when its turn comes.
	Leave
	// Pass gives an offer that has run out to the next node, for a node that wants
	// nothing itself.
	Pass
	// Reclaim adopts the hold that the journal of the node names, as far as it is still
	// used, and lets go of everything else.
	Reclaim
	// Break ends the hold that has the fence Hold, whosever it is, or has its node end one
	// Caller of it.
	Break
)

// String names the verb.
func (v Verb) String() string {
	return [...]string{"sync", "leave", "pass", "reclaim", "break"}[v]
}

// Op is what a node wants done to the record of a name.
type Op struct {
	Verb Verb
	Node string
	// Hold is the ID of the hold that the node knows to be its own; 0: it knows none.
	// Of Break, the hold to end.
	Hold backend.Fence
	// Caller, of Break: the fence of the one whose hold is to end; 0: all of them.
	Caller backend.Fence
	// Foreign, of Break: the hold to end is that of a program outside lockgw.
	Foreign bool
	// Keep is how many callers are in under Hold.
	Keep int
	// Stray is how many of the permits under Hold the node was not granted as far as it knows.
	// They count as free.
	Stray int
	// Want is how many permits more, or 1 for a lock, and Mode in which way; of Hold, if nothing
	// more is wanted.
	Want int
	Mode backend.Mode
	// Try: do not queue.
	Try bool
	// Deaf: messages to the node do not arrive.
	Deaf bool
	// Extend asks for the next block of fences under Hold. It is not given if others
	// wait.
	Extend bool
	// Turns is how many fences a block has, at least 1.
	Turns int
	// Floor: every fence reserved is larger.
	Floor backend.Fence
	// TTL is the lease of a hold, OfferTTL that of an offer.
	TTL, OfferTTL time.Duration
	// Strict orders the queue by Since. Then is when the first of the node's callers came who
	// cannot come in together with the one that it wants the name for; 0: there is none, or
	// that one wants the name alone.
	Strict bool
	Since  int64
	Then   int64
	// Unheard are offers whose message nobody has received. They are over at once.
	Unheard []backend.Fence
	// Lapse: see to holds of others whose time is up.
	Lapse bool
	// Restore, of Reclaim: if the store has forgotten the hold, and knows of no fence
	// above Floor, write it down again.
	Restore bool
	// Bar keeps the name from everybody for so long, after Leave and Break.
	Bar time.Duration
	// Delay likewise, if another node had it alone and its time is up: whoever used it there may
	// not know yet. It counts from the end of that.
	Delay time.Duration
	// Last is the newest fence that the node has given to one who had the name alone.
	Last backend.Fence
	// Retains is that of the hold.
	Retains bool
	// Callers and Waiters are told to people, and At: when that was so, by the clock of the
	// store as the node knows it.
	Callers []Caller
	Waiters int
	At      int64
}

// LeaseOf is the lease of the hold id, of those that begin; ok: there is one. The last one counts.
func LeaseOf(begin []Stamp, id backend.Fence) (ttl time.Duration, ok bool) {
	for _, st := range begin {
		if st.ID == id {
			ttl, ok = st.TTL, true
		}
	}
	return ttl, ok
}

// Effects are what has to happen in the same atomic step as the write.
type Effects struct {
	// Stamps are the leases that begin with the write. Every other end stays as the
	// store has it.
	Stamps []Stamp
	// Ended are holds and offers of others that the write ends because their time is
	// up. The store refuses the write unless that is so by its own clock. 0 is the
	// holder outside lockgw.
	Ended []backend.Fence
	// Messages are published once the record is written.
	Messages []Message
	// Grants: by the write its node holds what it did not hold before. A store that may
	// have forgotten who holds what refuses that, for as long as somebody may.
	Grants bool
	// Frees, with Grants: nothing is granted in earnest, and nobody queues, so a store that
	// is full carries the write out. Step does not set it; a Table that is made of several
	// others does.
	Frees bool
	// Lengthens: of a hold that is there, no lease ends earlier than it did before the write,
	// whatever Stamps say. Step does not set it; a Table that is made of several others
	// does, and only those of which it can be made (memory, redis) heed it.
	Lengthens bool
	// Taken: all that it grants was offered to its node before, or is its own by the record.
	// The name was passed on to it, so that nobody else can have it until the node takes it or
	// its time is up.
	Taken bool
	// Evicts: the lock of a program outside lockgw is deleted.
	Evicts bool
}

// Stamp begins a lease.
type Stamp struct {
	ID  backend.Fence
	TTL time.Duration
}

// Kind of a Message.
type Kind int

const (
	// Look: the name was offered to the node, or it should watch whether an offer to
	// another is taken. It asks the store.
	Look Kind = iota + 1
	// Waits: another node waits for what the node holds.
	Waits
	// Broken: the node's hold was ended by force.
	Broken
	// Resync: messages to the node may have been lost, of any name. A Table makes it
	// itself.
	Resync
	// Tell: the node is asked what it knows of the name.
	Tell
	// Told is the answer to a Tell.
	Told
	// Deaf: the node has no connection for messages, so that none arrive, while the store takes
	// requests. A Table makes it itself, again at least every DeafFor as long as that is so;
	// a Resync ends it.
	Deaf
)

// DeafFor is how long a Deaf holds.
const DeafFor = 30 * time.Second

// MaxText is how long the Text of a Message may be.
const MaxText = 4096

// Message to a node. It is a hint: it may come late, twice, never, or from a liar,
// and only ever makes its node ask the store, or say what it knows.
type Message struct {
	Node string
	Kind Kind
	// Text, of Tell and Told, is opaque.
	Text string
}

// Texts refuses messages that a Table does not carry.
func Texts(ms []Addressed) error {
	for _, m := range ms {
		if n := len(m.Text); n > MaxText || n > 0 && m.Kind != Tell && m.Kind != Told {
			return fmt.Errorf("%w: a text of %d bytes in a message of kind %d about %s", backend.ErrInvalid, n, m.Kind, m.Name)
		}
	}
	return nil
}
