package journal

import "time"

// State is the sum of the records of a journal.
type State struct {
	Node     string
	Secret   []byte // of this node: nobody else can make what is derived from it
	Boot     string // of the machine
	Sessions map[string]*Session
	Places   map[Key]*Place
	Fence    uint64 // highest that was told, of any name
	// Until is the end, on CLOCK_BOOTTIME, of the last hold that a lost journal told of; 0 if no
	// journal was lost. The processes after the one that found none know it, too.
	Until    time.Duration
	Rejected string // a file that was found and not believed, where it is now

	recent []answerRef // the answers in all sessions, the oldest first; some are gone
}

// Key of a place.
type Key struct{ Name, Slot string }

// Node is what a process writes first.
type Node struct {
	ID     string        `json:"id"`
	Secret []byte        `json:"secret"`
	Boot   string        `json:"boot"`
	Until  time.Duration `json:"until,omitempty"` // see State
}

// Life is what a session lives by.
type Life string

// The kinds of life.
const (
	Keepalive  Life = "keepalive"  // requests now and then
	Connection Life = "connection" // its connections
	Process    Life = "process"    // the process PID, started at Started
	MaxHold    Life = "max_hold"   // nothing; the bound of its hold
)

// Session is a client. The token is not in it, only its hash.
type Session struct {
	ID        string            `json:"id"`
	UUID      string            `json:"uuid"`
	Hash      []byte            `json:"hash"`
	Key       string            `json:"key,omitempty"` // of the request that opened it, hashed
	Since     time.Time         `json:"since"`
	Name      string            `json:"name,omitempty"`
	Meta      map[string]string `json:"meta,omitempty"`
	PeerPID   int               `json:"peer_pid,omitempty"`
	PeerUID   int               `json:"peer_uid"`
	Command   string            `json:"command,omitempty"`
	TTL       time.Duration     `json:"ttl,omitempty"`
	Keepalive time.Duration     `json:"keepalive,omitempty"`
	MaxHold   time.Duration     `json:"max_hold,omitempty"`
	OneLock   bool              `json:"one_lock,omitempty"`
	Conns     bool              `json:"conns,omitempty"`
	Life      Life              `json:"life"`
	PID       int               `json:"pid,omitempty"`
	Started   time.Duration     `json:"started,omitempty"` // on CLOCK_BOOTTIME
	Shown     *Peer             `json:"shown,omitempty"`
	Back      time.Duration     `json:"back,omitempty"`    // its connections are gone, and have until then to come back; on CLOCK_BOOTTIME
	User      string            `json:"user,omitempty"`    // by whom it is counted
	Admin     bool              `json:"admin,omitempty"`   // who is an administrator
	Account   string            `json:"account,omitempty"` // on which its connections are
	Access    string            `json:"access,omitempty"`  // the access token that it was opened with, hashed

	Spent   bool              `json:"-"`
	Answers map[string]Answer `json:"-"` // by the key of the request; nil: there was none
	Losses  map[Owner]Lost    `json:"-"` // likewise
}

// Peer is the process that is shown as the holder in place of the one that asked.
type Peer struct {
	PID     int    `json:"pid"`
	UID     int    `json:"uid"`
	Command string `json:"command,omitempty"`
}

// Owner is a hold of a session.
type Owner struct {
	Name   string
	Thread int64
}

// Lost is a hold that the session has not asked for since it was lost.
type Lost struct {
	Name   string `json:"name"`
	Thread int64  `json:"thread"`
	Fence  uint64 `json:"fence"`
	Reason string `json:"reason"`
}

// Answer is what was said to a request with a key: a hold (Fence), entries that
// are left (Count), or an error (Code).
type Answer struct {
	Key    string        `json:"key"`
	What   string        `json:"what"`
	At     time.Time     `json:"at"`           // for earlier versions
	Up     time.Duration `json:"up,omitempty"` // when it was given, on CLOCK_BOOTTIME; 0: by an earlier version
	Name   string        `json:"name,omitempty"`
	Thread int64         `json:"thread,omitempty"`
	Fence  uint64        `json:"fence,omitempty"`
	New    bool          `json:"new,omitempty"`
	Count  int           `json:"count,omitempty"`
	Free   time.Duration `json:"free,omitempty"` // what was given back the store has no more, on CLOCK_BOOTTIME
	Code   string        `json:"code,omitempty"`
	Detail string        `json:"detail,omitempty"`
	Lost   string        `json:"lost,omitempty"` // why Fence was lost, once the name was taken again; before, Losses says so
	Undone bool          `json:"-"`              // no answer: what was answered with Key is taken back
}

// maxLosses of one session are kept.
const maxLosses = 1 << 10

// Place is a name at which something may be left in the store, and whose turn it
// is, if anybody was told.
type Place struct {
	Turn  *Turn  // of a State that Open has returned: its session is there, or it is kept without one
	Fence uint64 // of the last turn told
}

// Turn is a hold as its session was told. Times are on CLOCK_BOOTTIME.
type Turn struct {
	Session   string        `json:"s"`
	Thread    int64         `json:"thread"`
	Hold      uint64        `json:"hold"` // its first fence, in the store
	Fence     uint64        `json:"fence"`
	Count     int           `json:"count"`
	TTL       time.Duration `json:"ttl"`
	Fixed     bool          `json:"fixed,omitempty"`
	Mode      int           `json:"mode,omitempty"` // see backend.Mode
	MaxHoldAt time.Duration `json:"max,omitempty"`
	KeepUntil time.Duration `json:"keep,omitempty"`
	Kept      bool          `json:"kept,omitempty"`  // released, and kept by min_hold
	Owner     string        `json:"owner,omitempty"` // of one that is kept
	Deadline  time.Duration `json:"until"`
	Note      string        `json:"note,omitempty"`
	Since     time.Time     `json:"since"`
}
