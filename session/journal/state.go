package journal

import (
	"iter"
	"time"
)

// State is the sum of the records of a journal.
type State struct {
	Node        string
	Incarnation uint64
	Secret      []byte // of this node: nobody else can make what is derived from it
	Boot        string // of the machine
	Sessions    map[string]*Session
	Places      map[Key]*Place
	Fence       uint64 // highest that was told, of any name
	// Until is the end, on CLOCK_BOOTTIME, of the last hold that a lost journal told of; 0 if no
	// journal was lost.
	Until    time.Duration
	Rejected string // a file that was found and not believed, where it is now

	recent []answerRef // the answers in all sessions, the oldest first; some are gone
}

// Key of a place.
type Key struct{ Name, Slot string }

// Node is what a process writes first.
type Node struct {
	ID          string `json:"id"`
	Incarnation uint64 `json:"inc"`
	Secret      []byte `json:"secret"`
	Boot        string `json:"boot"`
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
	User      string            `json:"user,omitempty"` // by whom it is counted

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
	Key    string    `json:"key"`
	What   string    `json:"what"`
	At     time.Time `json:"at"`
	Name   string    `json:"name,omitempty"`
	Thread int64     `json:"thread,omitempty"`
	Fence  uint64    `json:"fence,omitempty"`
	New    bool      `json:"new,omitempty"`
	Count  int       `json:"count,omitempty"`
	Code   string    `json:"code,omitempty"`
	Detail string    `json:"detail,omitempty"`
}

const (
	// Remember is how long an answer is kept.
	Remember = 10 * time.Minute
	// maxLosses of one session are kept.
	maxLosses = 1 << 10
)

// Place is a name at which something may be left in the store, and whose turn it
// is, if anybody was told.
type Place struct {
	Turn  *Turn
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

func (s *State) make() {
	if s.Sessions == nil {
		s.Sessions = map[string]*Session{}
	}
	if s.Places == nil {
		s.Places = map[Key]*Place{}
	}
}

// apply makes the change that r tells, and keeps what r points to. A record about something
// that is not known changes nothing.
func (s *State) apply(r *record) {
	switch r.Op {
	case opNode:
		s.Node, s.Incarnation, s.Secret, s.Boot = r.Node.ID, r.Node.Incarnation, r.Node.Secret, r.Node.Boot
	case opOpened:
		s.Sessions[r.Session.ID] = r.Session
	case opClosed:
		if c := s.Sessions[r.ID]; c != nil {
			c.Answers, c.Losses = nil, nil // recent may still point to it
			delete(s.Sessions, r.ID)
		}
	case opFence:
		s.raise(uint64(r.Number))
	case opSpent, opAnswered, opUnanswered, opLost, opShown:
		if c := s.Sessions[r.ID]; c != nil {
			c.apply(r)
			if r.Op == opAnswered {
				s.recent = append(s.recent, answerRef{c, r.Answer.Key, r.Answer.At})
				s.forgetAnswers(MostAnswers)
				s.forgetOld(r.Answer.At)
			}
		}
	default:
		s.applyPlace(r)
	}
}

func (c *Session) apply(r *record) {
	switch r.Op {
	case opSpent:
		c.Spent = true
	case opShown:
		c.Shown = r.Shown
	case opAnswered:
		if c.Answers == nil {
			c.Answers = map[string]Answer{}
		}
		c.Answers[r.Answer.Key] = *r.Answer
	case opUnanswered:
		delete(c.Answers, r.Answer.Key)
	case opLost:
		for old := range c.Losses { // any one: a client that asks for so many is not to be expected
			if len(c.Losses) < maxLosses {
				break
			}
			delete(c.Losses, old)
		}
		if c.Losses == nil {
			c.Losses = map[Owner]Lost{}
		}
		c.Losses[Owner{r.Lost.Name, r.Lost.Thread}] = *r.Lost
	}
}

func (s *State) applyPlace(r *record) {
	k := Key{r.Name, r.Slot}
	p := s.Places[k]
	if p == nil {
		p = &Place{}
	}
	switch r.Op {
	case opWants:
		p.Fence = max(p.Fence, uint64(r.Number))
		s.raise(p.Fence)
		s.Places[k] = p
	case opIdle:
		delete(s.Places, k)
	case opTold:
		t := r.Turn
		p.Turn, p.Fence = t, t.Fence
		s.raise(t.Fence)
		s.Places[k] = p
		if c := s.Sessions[t.Session]; c != nil {
			delete(c.Losses, Owner{k.Name, t.Thread})
		}
	case opEnded:
		p.Turn = nil
	case opKept:
		if p.Turn != nil {
			p.Turn.Kept, p.Turn.Owner, p.Turn.Session = true, r.Owner, ""
		}
	case opDeadline:
		if p.Turn != nil {
			p.Turn.Deadline = time.Duration(r.Number)
		}
	case opEntries:
		if p.Turn != nil {
			p.Turn.Count = int(r.Number)
		}
	}
}

// raise the highest fence. It outlives the places, most of which are forgotten when
// nothing is left of them in the store.
func (s *State) raise(fence uint64) { s.Fence = max(s.Fence, fence) }

// records that say what s knows.
func (s *State) records() iter.Seq[*record] {
	return func(yield func(*record) bool) {
		if !yield(&record{Op: opNode, Node: &Node{s.Node, s.Incarnation, s.Secret, s.Boot}}) {
			return
		}
		if s.Fence > 0 && !yield(&record{Op: opFence, Number: int64(s.Fence)}) {
			return
		}
		for _, c := range s.Sessions {
			for r := range c.records() {
				if !yield(r) {
					return
				}
			}
		}
		for _, ref := range s.recent {
			if a, ok := ref.answer(); ok && s.Sessions[ref.c.ID] == ref.c && !yield(&record{Op: opAnswered, ID: ref.c.ID, Answer: &a}) {
				return
			}
		}
		for k, p := range s.Places {
			r := &record{Op: opWants, Name: k.Name, Slot: k.Slot, Number: int64(p.Fence)}
			if p.Turn != nil {
				r.Op, r.Turn, r.Number = opTold, p.Turn, 0
			}
			if !yield(r) {
				return
			}
		}
		for _, c := range s.Sessions { // at last: a turn that is told ends a loss
			for _, l := range c.Losses {
				if !yield(&record{Op: opLost, ID: c.ID, Lost: &l}) {
					return
				}
			}
		}
	}
}

func (c *Session) records() iter.Seq[*record] {
	return func(yield func(*record) bool) {
		all := []*record{{Op: opOpened, Session: c}}
		if c.Spent {
			all = append(all, &record{Op: opSpent, ID: c.ID})
		}
		for _, r := range all {
			if !yield(r) {
				return
			}
		}
	}
}
