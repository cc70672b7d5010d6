package redis

import (
	"fmt"
	"slices"
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
	ended := s.Effects.Ended
	if slices.Contains(ended, 0) { // whether that one is there, the lock says
		ended = slices.DeleteFunc(slices.Clone(ended), func(id backend.Fence) bool { return id == 0 })
	}
	rest := 1 + len(ended) + 2*len(s.Effects.Messages) + len(fields)
	var m requests.Message
	if short := will == "" && s.Base != ""; short {
		m = append(requests.NewMessage(2, 5+rest), recordKey(raw), raw, string(s.Base), next, text, fence(s.Record.Top), will)
	} else {
		floor, own := "", ""
		if s.Base == "" && !s.Absolute {
			floor = fence(s.Floor)
		}
		if h := s.Record.Firm(t.cfg.Node.ID); h != nil {
			own = fence(max(h.ID, h.Block))
		}
		holds := 0
		for i := range s.Record.Holds {
			if s.Record.Holds[i].ID != 0 {
				holds++
			}
		}
		m = append(t.message(raw, 10+2*holds+rest), string(s.Base), next, text, fence(s.Record.Top), will,
			number, floor, own, lifeOf(&s.Record, s.Effects.Stamps), holds)
		m = withHolds(m, &s.Record, s.Effects.Stamps)
	}
	if rest > 1 {
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
func withHolds(m requests.Message, r *ledger.Record, begin []ledger.Stamp) requests.Message {
	for i := range r.Holds {
		h := &r.Holds[i]
		if h.ID == 0 {
			continue
		}
		id, ttl := fence(h.ID)+"=", ""
		if h.Offered {
			id = fence(h.ID) + "?"
		}
		if d, ok := leaseOf(begin, h.ID); ok {
			ttl = strconv.FormatInt(toTheMillisecond(d).Milliseconds(), 10)
		}
		m = append(m, id, ttl)
	}
	return m
}

// toTheMillisecond is a lease as Redis has it.
func toTheMillisecond(ttl time.Duration) time.Duration {
	return max(ttl.Truncate(time.Millisecond), time.Millisecond)
}

// leaseOf is the lease of a hold that begins; false: none does.
func leaseOf(begin []ledger.Stamp, id backend.Fence) (ttl time.Duration, ok bool) {
	for _, st := range begin {
		if st.ID == id {
			ttl, ok = st.TTL, true // the last one counts
		}
	}
	return ttl, ok
}

// lifeOf is how long a record has to last in which these leases begin, in ms; "" if there
// are others, which only the store knows.
func lifeOf(r *ledger.Record, begin []ledger.Stamp) string {
	longest := time.Duration(0)
	for i := range r.Holds {
		id := r.Holds[i].ID
		ttl, ok := leaseOf(begin, id)
		if !ok && id != 0 {
			return ""
		}
		longest = max(longest, ttl)
	}
	return strconv.FormatInt((longest + time.Minute).Milliseconds(), 10)
}

func fence(f backend.Fence) string { return strconv.FormatUint(uint64(f), 10) }
