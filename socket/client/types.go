package client

import "time"

// Token is the secret by which a client speaks for its session. It does not print itself.
type Token string

// String hides the secret; Secret tells it.
func (t Token) String() string { return "token-hidden" }

// GoString hides the secret too.
func (t Token) GoString() string { return t.String() }

// Secret is the token as it has to be sent.
func (t Token) Secret() string { return string(t) }

// State of a name or a hold.
type State string

// The states. Free and Unknown are of names; Lost is no state of a name.
const (
	Free     State = "free"
	Held     State = "held"
	Jeopardy State = "jeopardy" // a renewal failed, the lease still runs
	Lost     State = "lost"
	Unknown  State = "unknown" // the store cannot be asked
)

// Mode is who else may hold a name that is held.
type Mode string

// The modes.
const (
	Exclusive Mode = "exclusive" // nobody
	Shared    Mode = "shared"    // whoever shares it
	Semaphore Mode = "semaphore" // so many as its limit
)

// Hold is a name as the session that holds it sees it at one moment.
type Hold struct {
	Name      string
	State     State // Held or Jeopardy
	Owner     string
	Thread    int64
	Count     int           // entries
	Fence     uint64        // larger than that of every hold of the name before
	Left      time.Duration // until its lease is over, unless that is renewed
	Deadline  time.Duration // on CLOCK_BOOTTIME: likewise, but if nothing more is heard of the session
	Expires   time.Time     // the end of Left by the wall clock of the answer, for people
	MaxHoldAt time.Time     // when it ends however alive the session is; zero: never
	AutoRenew bool          // the gateway renews the lease
	Note      string
	Since     time.Time
}

// Process is a client's process, as the gateway's machine knows it.
type Process struct {
	PID     int    `json:"pid,omitempty"` // 0: unknown
	UID     int    `json:"uid"`           // -1: unknown, as over TCP
	Command string `json:"command,omitempty"`
}

// Holder is who holds a name, or waits for it, for people to read.
type Holder struct {
	Owner   string `json:"owner"`
	Node    string `json:"node,omitempty"` // the name of the gateway's machine
	Session string `json:"session,omitempty"`
	Process
	AskedBy *Process  `json:"asked_by,omitempty"` // the one that asked, if that is another
	Note    string    `json:"note,omitempty"`
	Since   time.Time `json:"since,omitzero"` // when it was granted, or began to wait
}

// Status is what is known of a name.
type Status struct {
	Name    string
	State   State // Free, Held or Unknown
	Holder  *Holder
	Waiters int // callers, of all nodes as far as the store knows
	// MoreWait: another gateway that has a part in the name has not said how many wait
	// there, so that there may be more than Waiters.
	MoreWait bool
	Queue    []Holder // the gateway's callers, the next one first
	Ahead    int      // callers of other gateways who come before them
	Next     *Holder  // who gets it after the holder, without Owner a caller of another node; nil: nobody, or it is not known
	Fence    uint64
	TTL      time.Duration // rest of the lease
	Mode     Mode          // while it is held
	Limit    int           // of a semaphore
	// Holders is how many hold it; if more than one, the rest is about the one with
	// the newest fence.
	Holders int
	// Shares is who holds a name together with others, the lowest fences first; not all
	// if they are many, and none in the answer to Client.Locks.
	Shares []Share
	// Silent are the gateways that have a part in the name and did not say how things are
	// there: what is told of them is as they last wrote it. None in the answer to Client.Locks.
	Silent []Silent
	// Trouble is why the store does not answer, or why it would not grant the name
	// although it is free; "" if there is no trouble.
	Trouble string
}

// Silent is a gateway that did not answer.
type Silent struct {
	Node string    `json:"node,omitempty"` // its machine, if it holds the name; "": not known
	AsOf time.Time `json:"as_of,omitzero"` // when it last wrote; zero: not known
}

// LockQuery says which locks a list is about. An empty field matches every lock.
type LockQuery struct {
	Prefix, Contains string // of the name; small and capital letters are alike in Contains
	State            string // held, free or waited
	Sort             string // name, holder, held, lease, waiters or fence
	Order            string // asc or desc
	Cursor           string // Next of the page before
	Limit            int    // at most so many; 0: the gateway's default
}

// LockPage is a part of a list.
type LockPage struct {
	Items []Status
	Next  string // where to go on; "": this is the end
	// What there is in all, on this page or not: names, those that are held, and callers
	// that wait. AtLeast: there may be more that wait; with Incomplete, and if those were
	// asked for that somebody waits for, also more of the rest.
	Locks, Held, Waiting int
	AtLeast              bool
	Incomplete           string // why names are missing; "": none is
}

// Share is one of those who hold a name together.
type Share struct {
	Holder
	Fence uint64
	TTL   time.Duration // rest of the lease
}

// SessionInfo is what a session is and holds.
type SessionInfo struct {
	ID, UUID  string
	Token     Token         // only in the answer to the call that opened the session
	Keepalive time.Duration // silence that ends it; 0: it lives by its connections or its process
	Since     time.Time
	Holds     []Hold
}

// Life is what a session lives by.
type Life string

// The kinds of life.
const (
	LifeConnection Life = "connection"
	LifeProcess    Life = "process"
	LifeKeepalive  Life = "keepalive" // requests now and then
	LifeMaxHold    Life = "max_hold"  // nothing; the bound of its hold
)

// Summary is a session as administrators see it.
type Summary struct {
	ID, UUID    string
	Name        string
	Meta        map[string]string
	Process     Process
	Since       time.Time
	Life        Life          // what it lives by
	BoundPID    int           // the process that it is bound to; 0: none
	Connections int           // that have joined it
	TTL         time.Duration // lease of its holds where an acquire asks for none
	Keepalive   time.Duration // silence that ends it; 0: none does
	Left        time.Duration // of Keepalive, if nothing more is heard of it
	MaxHold     time.Duration // no hold lasts longer; 0: no bound
	Holds       int           // how many it has now
	Locks       []string      // their names in order, not all if they are many
	Waits       int           // how many of its requests wait
	Queues      []string      // for what, likewise
}
