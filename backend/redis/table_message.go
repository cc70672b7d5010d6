package redis

import (
	"fmt"
	"strconv"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis/requests"
)

// version has never been used: by no other process, and not before by this one.
func (t *Table) version() string {
	const digits = "0000000000"
	n := strconv.FormatUint(t.writes.Add(1), 36)
	return t.nonce + digits[len(n):] + n
}

// message to a script about raw, with its keys and room for args.
func (t *Table) message(raw string, args int) requests.Message {
	return append(requests.NewMessage(4, args), recordKey(raw), raw, counterOf(raw), t.markKey(raw))
}

// swapMessage is s as swap.lua reads it.
func (t *Table) swapMessage(s ledger.Swap, next string) (requests.Message, error) {
	text, err := ledger.Encode(s.Record)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	raw := t.cfg.KeyPrefix + s.Name
	will, number, fields := lockOf(&s.Record)
	floor, own := "", ""
	if s.Base == "" && !s.Absolute {
		floor = fence(s.Floor)
	}
	if h := s.Record.Firm(t.cfg.Node.ID); h != nil {
		own = fence(max(h.ID, h.Block))
	}
	ttls := map[backend.Fence]time.Duration{}
	for _, st := range s.Effects.Stamps {
		ttls[st.ID] = st.TTL
	}
	ended := make([]backend.Fence, 0, len(s.Effects.Ended))
	for _, id := range s.Effects.Ended {
		if id != 0 { // whether that one is there, the lock says
			ended = append(ended, id)
		}
	}
	holds := 0
	for _, h := range s.Record.Holds {
		if h.ID != 0 {
			holds++
		}
	}
	m := t.message(raw, 10+2*holds+1+len(ended)+2*len(s.Effects.Messages)+len(fields))
	if short := will == "" && s.Base != ""; short {
		m = append(requests.NewMessage(2, 5+1+len(ended)+2*len(s.Effects.Messages)), m.Key(0), m.Key(1),
			string(s.Base), next, text, fence(s.Record.Top), will)
	} else {
		m = append(m, string(s.Base), next, text, fence(s.Record.Top), will, number, floor, own, lifeOf(&s.Record, ttls), holds)
	}
	m = withHolds(m, &s.Record, ttls)
	if len(ended)+len(s.Effects.Messages)+len(fields) > 0 {
		m = append(m, len(ended))
	}
	for _, id := range ended {
		m = append(m, fence(id))
	}
	for _, told := range s.Effects.Messages {
		m = append(m, channelOfNode+told.Node, heading(told.Kind, s.Name))
	}
	for _, f := range fields {
		m = append(m, f)
	}
	return m, nil
}

// withHolds adds the holds of r to m, with the leases that begin.
func withHolds(m requests.Message, r *ledger.Record, ttls map[backend.Fence]time.Duration) requests.Message {
	for _, h := range r.Holds {
		if h.ID == 0 {
			continue
		}
		id, ttl := fence(h.ID)+"=", ""
		if h.Offered {
			id = fence(h.ID) + "?"
		}
		if d, ok := ttls[h.ID]; ok {
			ttl = strconv.FormatInt(max(d.Milliseconds(), 1), 10)
		}
		m = append(m, id, ttl)
	}
	return m
}

// lifeOf is how long a record with these leases has to last, in ms; "" if there are leases
// that only the store knows.
func lifeOf(r *ledger.Record, ttls map[backend.Fence]time.Duration) string {
	longest := time.Duration(0)
	for _, h := range r.Holds {
		ttl, ok := ttls[h.ID]
		if !ok && h.ID != 0 {
			return ""
		}
		longest = max(longest, ttl)
	}
	return strconv.FormatInt((longest + time.Minute).Milliseconds(), 10)
}

func fence(f backend.Fence) string { return strconv.FormatUint(uint64(f), 10) }
