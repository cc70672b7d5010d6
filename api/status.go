package api

import (
	"time"

	"github.com/lockgw/lockgw/api/past"
	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

// status is what anybody is told of a name.
type status struct {
	Name    string        `json:"name"`
	State   session.State `json:"state"`
	Mode    string        `json:"mode,omitempty"`    // while it is held
	Holders int           `json:"holders,omitempty"` // how many hold it
	Limit   int           `json:"limit,omitempty"`   // how many may, of a semaphore
	Holder  *holder       `json:"holder,omitempty"`  // the newest of them
	Shares  []share       `json:"holders_list,omitempty"`
	Waiters int           `json:"waiters"`
	More    bool          `json:"waiters_at_least,omitempty"`
	Next    *holder       `json:"next,omitempty"`           // who gets it after the holder, of this node
	Away    bool          `json:"next_elsewhere,omitempty"` // a caller of another node does
	Queue   []holder      `json:"queue"`                    // of this node
	Ahead   int           `json:"ahead,omitempty"`          // callers of other nodes before those of the queue
	Fence   backend.Fence `json:"fence"`                    // newest known, 0: none
	TTLMS   int64         `json:"ttl_ms"`
	Silent  []silent      `json:"silent,omitempty"`
	Trouble string        `json:"trouble,omitempty"` // with the store
}

// silent is a node of which the rest is as it last wrote it.
type silent struct {
	Node string    `json:"node,omitempty"`
	AsOf time.Time `json:"as_of,omitzero"`
}

// share is one of those who hold a name together.
type share struct {
	holder
	Fence backend.Fence `json:"fence"`
	TTLMS int64         `json:"ttl_ms"`
}

// holder is one who holds or waits.
type holder struct {
	past.Person
	Since  time.Time `json:"since,omitzero"`
	HeldMS int64     `json:"held_ms"` // since then; of a waiter: how long it has waited
}

func askerOf(p *session.Peer) *past.Asker {
	if p == nil {
		return nil
	}
	return &past.Asker{PID: p.PID, Command: p.Command, UID: uidOf(p.UID)}
}

// uidOf is nil if the user is not known.
func uidOf(uid int) *int {
	if uid < 0 {
		return nil
	}
	return &uid
}

func statusOf(st session.Status) status {
	s := status{
		Name: st.Name, State: st.State, Holder: holderOf(st.Holder), Waiters: st.Waiters, More: st.MoreWait, Next: holderOf(st.Next),
		Queue: make([]holder, 0, len(st.Queue)), Ahead: st.Ahead, Fence: st.Fence, TTLMS: st.TTL.Milliseconds(), Trouble: st.Trouble,
	}
	if s.Next != nil && s.Next.Owner == "" {
		s.Next, s.Away = nil, true
	}
	if st.State == session.StateHeld {
		s.Mode, s.Holders, s.Limit = st.Mode.String(), st.Holders, st.Mode.Limit()
	}
	for i := range st.Shares {
		h := &st.Shares[i]
		s.Shares = append(s.Shares, share{*holderOf(&h.Holder), h.Fence, h.TTL.Milliseconds()})
	}
	for i := range st.Queue {
		s.Queue = append(s.Queue, *holderOf(&st.Queue[i]))
	}
	for _, n := range st.Silent {
		s.Silent = append(s.Silent, silent{n.Node, n.AsOf.UTC()})
	}
	return s
}

func holderOf(h *session.Holder) *holder { return holderAt(h, time.Now()) }

// holderAt is h as it was then.
func holderAt(h *session.Holder, then time.Time) *holder {
	if h == nil {
		return nil
	}
	out := &holder{Person: personOf(h), Since: h.Since.UTC()}
	if !h.Since.IsZero() {
		out.HeldMS = max(0, then.Sub(h.Since).Milliseconds()) // another machine's clock may be ahead
	}
	return out
}
