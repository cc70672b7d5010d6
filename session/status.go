package session

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/jsontext"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Peer is who is behind a session, as far as the kernel tells.
type Peer struct {
	PID     int    `json:"pid,omitempty"`
	UID     int    `json:"uid"` // -1: unknown, as over TCP
	Command string `json:"command,omitempty"`
}

// NoPeer is the Peer of whom nothing is known.
func NoPeer() Peer { return Peer{UID: -1} }

// Holder is who holds a name, or waits for it, for people to read.
type Holder struct {
	Owner   backend.Owner `json:"owner"`
	Node    string        `json:"node,omitempty"` // the name of the gateway's machine
	Session string        `json:"session,omitempty"`
	Peer                  // the process that the hold lives by, or the one that asked
	AskedBy *Peer         `json:"asked_by,omitempty"` // the one that asked, if that is another
	Note    string        `json:"note,omitempty"`
	Since   time.Time     `json:"since,omitzero"` // when it was granted, or began to wait
}

// State of a name or a hold.
type State string

// The states. Free and unknown are of names.
const (
	StateFree     State = "free"
	StateHeld     State = "held"
	StateJeopardy State = "jeopardy" // a renewal failed, the lease still runs
	StateUnknown  State = "unknown"  // the store cannot be asked
)

// Status is what is known of a name.
type Status struct {
	Name    string
	State   State // free, held or unknown
	Holder  *Holder
	Waiters int // callers, of all nodes as far as the store knows
	// MoreWait: another node that has a part in the name has not said how many wait there,
	// so that there may be more than Waiters.
	MoreWait bool
	Queue    []Holder // this node's callers, the next one first
	Ahead    int      // callers of other nodes who come before those of Queue
	// Next is who gets the name when the holder lets go of it; nil: nobody waits, or it
	// is not known. Without Owner it is a caller of another node. List leaves it out.
	Next  *Holder
	Fence backend.Fence
	TTL   time.Duration // rest of the lease
	Mode  backend.Mode  // while it is held
	// Holders is how many hold it; if more than one, the rest is about the one with
	// the newest fence.
	Holders int
	// Shares is who holds a name that is not held exclusively, the lowest fences first
	// and at most backend.MaxSeveral of them. List leaves it out.
	Shares []Share
	// Silent are the nodes that have a part in the name and have not said how things are there:
	// what is told of them is as they last wrote it. List leaves it out.
	Silent []Silent
	// Trouble is why the store gives no answer, here or to those who wait here, or
	// would not grant the name though it is free; "": it does, and would.
	Trouble string
}

// Silent is a node that was asked about a name, and has not answered in time.
type Silent struct {
	Node string    // its machine, if it holds the name; "": not known
	AsOf time.Time // when it last wrote; zero: not known
}

// Share is one of those who hold a name together.
type Share struct {
	Holder
	Fence backend.Fence
	TTL   time.Duration // rest of the lease
}

// View is a hold as its session sees it at one moment.
type View struct {
	Name      string
	State     State // held or jeopardy
	Owner     backend.Owner
	Thread    int64
	Count     int
	Fence     backend.Fence
	Left      time.Duration // until its lease is over, unless that is renewed
	Expires   time.Time     // likewise, by the wall clock of now, for people
	Deadline  time.Duration // on CLOCK_BOOTTIME: likewise, but if nothing more is heard of the session
	MaxHoldAt time.Time     // when it ends however alive the session is; zero: never
	AutoRenew bool
	Note      string
	Since     time.Time
}

// holderIn is who has h, as its node last wrote it, or a program outside lockgw.
func holderIn(h *ledger.Hold) *Holder {
	var c ledger.Caller
	if len(h.Callers) > 0 {
		c = h.Callers[0]
	}
	holder := holderFrom(h.Node, c)
	if h.Node == "" {
		holder.Note = "a program outside lockgw" // stands where others have their names: held by ...
		if h.ID != 0 {
			holder.Note = "nobody: it is kept free after a hold was lost (lock.delay)"
		}
	}
	return &holder
}

// holderFrom makes a Holder of what another node tells of a caller.
func holderFrom(node string, c ledger.Caller) Holder {
	h := Holder{Peer: NoPeer()}
	if c.About != "" {
		_ = json.Unmarshal([]byte(c.About), &h) // of a later version, perhaps: show what is understood
	}
	h.Owner = c.Owner
	if c.Since != 0 {
		h.Since = time.UnixMicro(c.Since)
	}
	if h.Node == "" {
		h.Node = node
	}
	return h
}

// record is the opposite of holderFrom. It is without the owner, which stands beside it
// wherever it goes: stores take longer for a longer record.
func (h Holder) record() string {
	b := make([]byte, 0, 256)
	b = jsontext.Text(b, `,"node":`, h.Node)
	b = jsontext.Text(b, `,"session":`, h.Session)
	b = jsontext.Number(b, `,"pid":`, int64(h.PID))
	b = strconv.AppendInt(append(b, `,"uid":`...), int64(h.UID), 10)
	b = jsontext.Text(b, `,"command":`, h.Command)
	if h.AskedBy != nil {
		b = jsontext.Rare(append(b, `,"asked_by":`...), h.AskedBy)
	}
	b = jsontext.Text(b, `,"note":`, h.Note)
	if !h.Since.IsZero() {
		b = jsontext.Moment(append(b, `,"since":`...), h.Since)
	}
	b = append(b, '}')
	b[0] = '{' // in place of the first comma
	return string(b)
}
