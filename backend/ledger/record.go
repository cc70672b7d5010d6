package ledger

import (
	"math"
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// Record is all that a store keeps for one name.
type Record struct {
	// Size is how many permits the semaphore has; 0: the name is a lock; OtherKind, which is
	// never written: a program outside lockgw has it as something else.
	Size int `json:"size,omitempty"`
	// Top is the newest fence that was ever reserved.
	Top backend.Fence `json:"top"`
	// Last is the newest fence that was given to a caller, as far as the nodes have written. Of a
	// hold that was ended by others that is not known: then it is the newest that may have been.
	Last backend.Fence `json:"last,omitempty"`
	// Broken is the hold that was ended by force last. A store may have forgotten any other
	// hold that its node misses.
	Broken backend.Fence `json:"broken,omitempty"`
	// Holds are the nodes that have the name or were offered it. A node has at most
	// one of either sort.
	Holds []Hold `json:"holds,omitempty"`
	// Queue are the nodes that wait, the next one first. A node has at most one entry.
	Queue []Entry `json:"queue,omitempty"`
	// Vote is what a Table that is made of several others keeps beside the record in each
	// of them. Nobody else looks at it.
	Vote string `json:"vote,omitempty"`
}

// OtherKind is the Size of what conflicts with everything.
const OtherKind = -1

// Hold is what one node has, or was offered.
type Hold struct {
	// Node is its id. The empty one is nobody: such a hold keeps the name from
	// everybody until its End (lock.delay), or stands for a holder outside lockgw.
	Node string       `json:"node"`
	Mode backend.Mode `json:"mode,omitempty"`
	// Count is how many permits of a semaphore; 1 of a lock.
	Count int `json:"count"`
	// Offered: it becomes a hold by a write of its node, which has to come before End.
	Offered bool `json:"offered,omitempty"`
	// ID is the first fence that was reserved for the hold, and names it. 0, which is
	// never written, is a holder outside lockgw.
	ID backend.Fence `json:"id"`
	// Block is the first fence of the newest block that was reserved for it.
	Block backend.Fence `json:"block,omitempty"`
	// Retains: the node may keep it for a while when nobody there uses it, and gives it up
	// as soon as another node waits.
	Retains bool `json:"retains,omitempty"`
	// Breaks are the fences of callers whose holds an administrator has ended, while others
	// may go on under the same hold. The node ends them, and takes them out.
	Breaks []backend.Fence `json:"breaks,omitempty"`
	// Callers are the first of those that are let in by the node, as of its last write.
	Callers []Caller `json:"callers,omitempty"`
	// At is when that was, in microseconds of the store's clock as the node knew it; 0: it
	// did not.
	At int64 `json:"at,omitempty"`
	// End is when it is over if nobody prolongs it, on the clock of who reads it. It
	// is kept beside the record.
	End time.Duration `json:"-"`
	// Endless: it is that of a program outside lockgw and has no end. End is when to look again.
	Endless bool `json:"-"`
}

// Foreign: it is that of a program outside lockgw.
func (h *Hold) Foreign() bool { return h.ID == 0 }

// Same: h and o differ in nothing but ends and what is told to people. Either may be nil.
func (h *Hold) Same(o *Hold) bool {
	if h == nil || o == nil {
		return h == o
	}
	return h.Node == o.Node && h.Mode == o.Mode && h.Count == o.Count && h.Offered == o.Offered &&
		h.ID == o.ID && h.Block == o.Block && slices.Equal(h.Breaks, o.Breaks)
}

// Entry is a node that waits.
type Entry struct {
	Node string       `json:"node"`
	Mode backend.Mode `json:"mode,omitempty"`
	// Want is how many permits; 1 of a lock.
	Want int `json:"want"`
	// Suspect: the node let an offer run out, and is served last until it writes again.
	Suspect bool `json:"suspect,omitempty"`
	// Deaf: messages to the node do not arrive, and it looks by itself.
	Deaf bool `json:"deaf,omitempty"`
	// Since is when the first of its callers came, in microseconds of the store's
	// clock. It orders the queue if the order is strict.
	Since int64 `json:"since,omitempty"`
	// Then is Op.Then: nobody who came later passes that caller, although its node does not
	// stand here for it yet.
	Then int64 `json:"then,omitempty"`
	// Waiters is how many callers waited at the node at its last write.
	Waiters int `json:"waiters,omitempty"`
	// At is when that was, in microseconds of the store's clock as the node knew it; 0: it
	// did not.
	At int64 `json:"at,omitempty"`
}

// Caller is one caller of a node, as others are told of it.
type Caller struct {
	Owner backend.Owner `json:"owner"`
	// Entries is how often the owner has entered.
	Entries int           `json:"entries"`
	Fence   backend.Fence `json:"fence,omitempty"`
	// Since is when it was let in, in microseconds of the store's clock; 0: it waits.
	Since int64 `json:"since,omitempty"`
	// About is opaque: process, note and so on.
	About string `json:"about,omitempty"`
}

// InUse: somebody holds the name or waits for it.
func (r *Record) InUse() bool { return len(r.Holds)+len(r.Queue) > 0 }

// Hold is the one with that id, 0 of a program outside lockgw; nil: there is none.
func (r *Record) Hold(id backend.Fence) *Hold {
	if i := slices.IndexFunc(r.Holds, func(h Hold) bool { return h.ID == id }); i >= 0 {
		return &r.Holds[i]
	}
	return nil
}

// Firm is the hold of node; nil: it has none.
func (r *Record) Firm(node string) *Hold { return r.find(node, false) }

// Offer is what was offered to node; nil: nothing.
func (r *Record) Offer(node string) *Hold { return r.find(node, true) }

func (r *Record) find(node string, offered bool) *Hold {
	for i := range r.Holds {
		if h := &r.Holds[i]; h.Node == node && h.Offered == offered {
			return h
		}
	}
	return nil
}

// Entry is the place of node in the queue; nil: it has none.
func (r *Record) Entry(node string) *Entry {
	if i := r.place(node); i >= 0 {
		return &r.Queue[i]
	}
	return nil
}

// Looks: node comes for an offer by itself, although no message to it arrives. One that has let
// an offer run out since it wrote last may be dead as well.
func (r *Record) Looks(node string) bool {
	e := r.Entry(node)
	return e != nil && e.Deaf && !e.Suspect
}

func (r *Record) place(node string) int {
	return slices.IndexFunc(r.Queue, func(e Entry) bool { return e.Node == node })
}

// Has: something of node is in the record.
func (r *Record) Has(node string) bool {
	return r.Firm(node) != nil || r.Offer(node) != nil || r.place(node) >= 0
}

// OthersWait: a node other than this one waits for more than it was offered, or will. One
// that let an offer run out does not count.
func (r *Record) OthersWait(node string) bool {
	return slices.ContainsFunc(r.Queue, func(e Entry) bool {
		return e.Node != node && !e.Suspect && (r.missing(e) > 0 || e.Then > 0)
	})
}

// OthersCame: somebody of another node came before since, and is to be let in before one who
// came then. What was offered need not be taken before one who shares the name comes in beside it;
// where permits are offered, the next of that node may stand behind who gets them, see standFor.
func (r *Record) OthersCame(node string, since int64) bool {
	return slices.ContainsFunc(r.Queue, func(e Entry) bool {
		first := e.Since < since && (r.missing(e) > 0 || e.Mode.Limit() > 0)
		return e.Node != node && !e.Suspect && (first || e.Then > 0 && e.Then < since)
	})
}

// missing is how much e still waits for, beyond what it was offered.
func (r *Record) missing(e Entry) int {
	if o := r.Offer(e.Node); o != nil {
		return max(e.Want-o.Count, 0)
	}
	return e.Want
}

// Conflicts: others use the name as another kind than mode is: a lock, or a semaphore
// of one size.
func (r *Record) Conflicts(node string, mode backend.Mode) bool {
	return r.ConflictsAt(node, mode, ever)
}

// ConflictsAt: likewise, but for what others have whose time is up at now: whoever wants the
// name ends that.
func (r *Record) ConflictsAt(node string, mode backend.Mode, now time.Duration) bool {
	return r.Size != mode.Limit() && r.usedByOthers(node, now)
}

// ever is a time at which nobody's is up.
const ever = time.Duration(math.MinInt64)

func (r *Record) usedByOthers(node string, now time.Duration) bool {
	return slices.ContainsFunc(r.Holds, func(h Hold) bool { return h.Node != node && (h.Node != "" || h.Foreign()) && h.End > now }) ||
		slices.ContainsFunc(r.Queue, func(e Entry) bool { return e.Node != node })
}

// Same: r and o differ in nothing but ends, votes and what is told to people.
func (r *Record) Same(o *Record) bool {
	return r.Size == o.Size && r.Top == o.Top &&
		slices.EqualFunc(r.Holds, o.Holds, func(a, b Hold) bool { return a.Same(&b) }) &&
		slices.EqualFunc(r.Queue, o.Queue, func(a, b Entry) bool {
			a.Waiters, b.Waiters, a.At, b.At = 0, 0, 0, 0
			return a == b
		})
}

// Clone shares nothing with r that Step changes.
func (r *Record) Clone() Record {
	c := *r
	c.Holds, c.Queue = slices.Clone(r.Holds), slices.Clone(r.Queue)
	return c
}
