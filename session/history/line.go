package history

import (
	"encoding/json"
	"io"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

// line is what one line of a file says.
type line struct {
	Kind    string    `json:"kind"`
	Lock    string    `json:"lock,omitempty"`
	Who     *who      `json:"who,omitempty"`
	Mode    string    `json:"mode,omitempty"` // but for exclusive
	Asked   time.Time `json:"asked,omitzero"`
	Granted time.Time `json:"granted,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	Outcome Outcome   `json:"outcome,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Fence   uint64    `json:"fence,omitempty"`
	Ahead   int       `json:"ahead,omitempty"`
	Behind  *who      `json:"behind,omitempty"`

	// Of kindSeen and kindMore.
	From   time.Time `json:"from,omitzero"`
	To     time.Time `json:"to,omitzero"`
	Totals *Totals   `json:"totals,omitempty"`
}

// The kinds of lines. A later line about an attempt replaces an earlier one.
const (
	kindAttempt = "attempt"
	kindSeen    = "seen" // who held the lock on another node, as waiters here were told
	kindMore    = "more" // counts of the attempts that have no lines of their own
)

// who is a session.Holder as it is written, without empty fields.
type who struct {
	Owner   string        `json:"owner"`
	Node    string        `json:"node,omitempty"`
	PID     int           `json:"pid,omitempty"`
	UID     *int          `json:"uid,omitempty"`
	Command string        `json:"command,omitempty"`
	AskedBy *session.Peer `json:"asked_by,omitempty"` // which is known
	Note    string        `json:"note,omitempty"`
	Since   time.Time     `json:"since,omitzero"`
}

func whoOf(h *session.Holder, since bool) *who {
	if h == nil {
		return nil
	}
	w := &who{Owner: string(h.Owner), Node: h.Node, PID: h.PID, Command: h.Command, AskedBy: h.AskedBy, Note: h.Note}
	if h.UID >= 0 {
		uid := h.UID
		w.UID = &uid
	}
	if since && !h.Since.IsZero() {
		w.Since = short(h.Since)
	}
	return w
}

func (w *who) holder() *session.Holder {
	if w == nil {
		return nil
	}
	h := &session.Holder{
		Owner: backend.Owner(w.Owner), Node: w.Node, Peer: session.Peer{PID: w.PID, UID: -1, Command: w.Command},
		AskedBy: w.AskedBy, Note: w.Note, Since: w.Since,
	}
	if w.UID != nil {
		h.UID = *w.UID
	}
	return h
}

// short is t as it is written: to the microsecond, which is enough to distinguish the
// attempts of one owner.
func short(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Microsecond)
}

func (a *Attempt) line() line {
	l := line{
		Kind: kindAttempt, Lock: a.Lock, Who: whoOf(&a.Who, false), Asked: short(a.Asked), Granted: short(a.Granted), Ended: short(a.Ended),
		Outcome: a.Outcome, Reason: a.Reason, Fence: a.Fence, Ahead: a.Ahead, Behind: whoOf(a.Behind, true),
	}
	if a.Mode != exclusive {
		l.Mode = a.Mode
	}
	return l
}

const exclusive = "exclusive"

func (l *line) attempt() Attempt {
	a := Attempt{
		Lock: l.Lock, Mode: l.Mode, Asked: l.Asked, Granted: l.Granted, Ended: l.Ended, Outcome: l.Outcome, Reason: l.Reason,
		Fence: l.Fence, Ahead: l.Ahead, Behind: l.Behind.holder(),
	}
	if l.Who != nil {
		a.Who = *l.Who.holder()
	}
	if a.Mode == "" {
		a.Mode = exclusive
	}
	return a
}

func (l *line) write(out io.Writer) error { return json.NewEncoder(out).Encode(l) }
