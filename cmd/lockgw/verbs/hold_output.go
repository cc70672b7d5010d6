package verbs

import (
	"time"

	"github.com/lockgw/lockgw/socket/client"
)

// holdOut is a hold as JSON, with the names of the HTTP API; with its token only where
// the session is new.
type holdOut struct {
	Name      string       `json:"name"`
	State     client.State `json:"state"`
	Owner     string       `json:"owner"`
	Token     string       `json:"token,omitempty"`
	Thread    int64        `json:"thread"`
	Count     int          `json:"count"`
	Fence     uint64       `json:"fence"`
	TTLMS     int64        `json:"ttl_ms"`
	ExpiresAt time.Time    `json:"expires_at"`
	MaxHoldAt time.Time    `json:"max_hold_at,omitzero"`
	AutoRenew bool         `json:"auto_renew"`
	Note      string       `json:"note,omitempty"`
}

func newHoldOut(h client.Hold, token client.Token) holdOut {
	return holdOut{
		Name: h.Name, State: h.State, Owner: h.Owner, Token: token.Secret(), Thread: h.Thread, Count: h.Count, Fence: h.Fence,
		TTLMS: h.Left.Milliseconds(), ExpiresAt: h.Expires, MaxHoldAt: h.MaxHoldAt, AutoRenew: h.AutoRenew, Note: h.Note,
	}
}

// releasedOut is the end of a hold, or of one entry of it.
type releasedOut struct {
	Name     string `json:"name"`
	Released bool   `json:"released"`
	Count    int    `json:"count"`
}

type renewedOut struct {
	Name  string `json:"name"`
	TTLMS int64  `json:"ttl_ms"`
}

type tokenOut struct {
	Token string `json:"token"`
}

// killedOut is how many sessions an administrator has ended; of one, what it held.
type killedOut struct {
	Sessions int      `json:"sessions"`
	Locks    []string `json:"locks,omitempty"`
}
