package redis

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis/requests"
)

// A version has never been used for another record: by no other process, and not before by this
// one. It ends with the seal of the record, so that nobody can forge what a message says that
// the version has.
const (
	nonceLength   = 4
	counterLength = 4
	sealLength    = 14
	versionLength = nonceLength + counterLength + sealLength
)

// mostWrites is after how many the counter begins anew.
const mostWrites = 36 * 36 * 36 * 36

// version of the record text. What join.lua or a new base makes of it is another text: the
// one seals that, the other is not believed if a message brings it.
func (t *Table) version(text []byte) string {
	var digits [counterLength]byte
	n := strconv.AppendUint(digits[:0], t.writes.Add(1)%mostWrites, 36)
	b := append(make([]byte, 0, versionLength), t.nonce...)
	for range counterLength - len(n) {
		b = append(b, '0')
	}
	return string(append(append(b, n...), seal(text)...))
}

// seal is what join.lua makes of a record, too: Redis has no other digest. To find another
// text with the same 56 bits takes longer than a version is the present one, by far.
func seal(text []byte) []byte {
	sum := sha1.Sum(text)
	return hex.AppendEncode(nil, sum[:])[:sealLength]
}

// sealed: the record has the version that it says.
func (s *stored) sealed(text string) bool {
	_, body, _ := strings.Cut(text, "\n")
	return strings.HasSuffix(string(s.version), string(seal([]byte(body))))
}

// message to a script about raw, with its keys and room for args.
func (t *Table) message(raw string, args int) *requests.Message {
	m := requests.NewMessage(4, args)
	addKeys(m, raw)
	addCounter(m, raw)
	m.Add(t.markKey(raw))
	return m
}

func addCounter(m *requests.Message, raw string) {
	before, after := around(raw)
	m.Add(counterPrefix, before, raw, after)
}

// addKeys adds those that a name has while it is held.
func addKeys(m *requests.Message, raw string) {
	before, after := recordAround(raw)
	m.Add("lockgw:", before, raw, after)
	m.Add(raw)
}

// swapMessage is s as swap.lua reads it: text, which is its record, becomes the version next.
func (t *Table) swapMessage(s ledger.Swap, next string, text []byte) *requests.Message {
	raw := t.cfg.KeyPrefix + s.Name
	lock := lockOf(&s.Record)
	ended := s.Effects.Ended
	if slices.Contains(ended, 0) { // whether that one is there, the lock says
		ended = slices.DeleteFunc(slices.Clone(ended), func(id backend.Fence) bool { return id == 0 })
	}
	rest := 1 + len(ended) + 2*len(s.Effects.Messages) + len(lock.fields)
	short := lock.kind == lockNone && s.Base != "" && len(s.Record.Queue) == 0
	var m *requests.Message
	if short {
		m = requests.NewMessage(2, 5+rest)
		addKeys(m, raw)
	} else {
		m = t.message(raw, 10+2*len(s.Record.Holds)+rest)
	}
	m.Add(string(s.Base))
	m.Add(next)
	m.AddBytes(text)
	m.AddNumber(int64(s.Record.Top))
	lock.add(m)
	if !short {
		t.addHolds(m, &s, lock.number)
	}
	if rest > 1 {
		m.AddNumber(int64(len(ended)))
	}
	for _, id := range ended {
		m.AddNumber(int64(id))
	}
	for _, told := range s.Effects.Messages {
		m.Add(channelOfNode, told.Node)
		m.Add(ledger.Heading(told.Kind, s.Name))
	}
	for _, f := range lock.fields {
		m.Add(f)
	}
	return m
}

// addHolds adds what swap.lua has to know where there will be holds, or was no record: number
// is what is written into the lock.
func (t *Table) addHolds(m *requests.Message, s *ledger.Swap, number string) {
	m.Add(number)
	if s.Base == "" && !s.Absolute {
		m.AddNumber(int64(s.Floor))
	} else {
		m.Add()
	}
	if h := s.Record.Firm(t.cfg.Node.ID); h != nil {
		m.AddNumber(int64(max(h.ID, h.Block)))
	} else {
		m.Add()
	}
	if life, ok := t.lifeOf(&s.Record, s.Effects.Stamps); ok && !s.Effects.Lengthens {
		m.AddNumber(life.Milliseconds())
	} else {
		m.Add()
	}
	holds := 0
	for i := range s.Record.Holds {
		if s.Record.Holds[i].ID != 0 {
			holds++
		}
	}
	m.AddNumber(int64(holds))
	for i := range s.Record.Holds {
		h := &s.Record.Holds[i]
		if h.ID == 0 {
			continue
		}
		sign := "="
		if h.Offered {
			sign = "?"
		}
		m.AddNumber(int64(h.ID), sign)
		if d, ok := ledger.LeaseOf(s.Effects.Stamps, h.ID); ok {
			least := ""
			if s.Effects.Lengthens {
				least = "+"
			}
			m.AddNumber(toTheMillisecond(d).Milliseconds(), least)
		} else {
			m.Add()
		}
	}
}

// toTheMillisecond is a lease as Redis has it.
func toTheMillisecond(ttl time.Duration) time.Duration {
	return max(ttl.Truncate(time.Millisecond), time.Millisecond)
}

// lifeOf is how long a record has to last in which these leases begin; false: there are
// others, which only the store knows. In a quarantine nobody has a name that was given back, and
// those who wait for it keep their places.
func (t *Table) lifeOf(r *ledger.Record, begin []ledger.Stamp) (longest time.Duration, ok bool) {
	if len(r.Queue) > 0 && t.cfg.Guard == GuardQuarantine {
		longest = t.cfg.Lease
	}
	for i := range r.Holds {
		id := r.Holds[i].ID
		ttl, ok := ledger.LeaseOf(begin, id)
		if !ok && id != 0 {
			return 0, false
		}
		longest = max(longest, ttl)
	}
	return longest + time.Minute, true
}
