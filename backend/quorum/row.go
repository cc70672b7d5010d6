package quorum

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// format is how the first line of a row is written. One in a later format is not touched.
const format = "1"

// none is a word of that line that says nothing.
const none = "-"

// Row is what is stored of a name: a line with how its holds end, then the record as package
// ledger writes it, so that a person can read both.
type Row struct {
	Ends   Ends
	Record ledger.Record
	// Kept is the version of a row that was written again by a renewal, which is none.
	Kept ledger.Version

	text string // what Text has told, or was read
}

// Version of a row. It begins with the place at which it stands, which no later write has
// again, unless the store was restored from an older copy. So the sum of the record follows,
// which another record at the same place does not have; and the ends, so that a write knows
// without reading by what they are proven. No place: there is no row.
func (r *Row) Version(place string) ledger.Version {
	switch {
	case place == "":
		return ""
	case r.Kept != "":
		return r.Kept
	default:
		return ledger.Version(place + "#" + r.sum() + "@" + r.Ends.String())
	}
}

// sum tells records from each other.
func (r *Row) sum() string {
	_, record, _ := strings.Cut(r.Text(), "\n")
	h := fnv.New64a()
	_, _ = h.Write([]byte(record)) // never fails
	return strconv.FormatUint(h.Sum64(), 36)
}

// ParseVersion reads what Version made.
func ParseVersion(v ledger.Version) (place string, es Ends, err error) {
	if v == "" {
		return "", nil, nil
	}
	at, text, ok := strings.Cut(string(v), "@")
	place, _, summed := strings.Cut(at, "#")
	if es, err = ParseEnds(text); err != nil || !ok || !summed || place == "" {
		return "", nil, NoVersion(v)
	}
	return place, es, nil
}

// NoVersion is an ErrInvalid about v.
func NoVersion(v ledger.Version) error {
	return fmt.Errorf("%w: %q is no version of a record", backend.ErrInvalid, v)
}

// Text is what is stored.
func (r *Row) Text() string {
	if r.text == "" {
		r.text = fmt.Sprintf("%s %s %s\n%s", format, cmp.Or(r.Ends.String(), none), cmp.Or(string(r.Kept), none), ledger.Encode(r.Record))
	}
	return r.text
}

// Decode reads what Text made.
func Decode(value string) (Row, error) {
	first, text, _ := strings.Cut(value, "\n")
	words := strings.Split(first, " ")
	if len(words) != 3 || words[0] != format {
		return Row{}, errors.New("not a record that this version of lockgw reads: update this gateway if a newer one has written it, else delete it")
	}
	for i, w := range words {
		words[i] = strings.TrimSuffix(w, none)
	}
	es, err := ParseEnds(words[1])
	if err != nil {
		return Row{}, err
	}
	record, err := ledger.Decode([]byte(text))
	return Row{Ends: es, Record: record, Kept: ledger.Version(words[2]), text: value}, err
}

// Holds: the row has the hold id, and it can be renewed.
func (r *Row) Holds(id backend.Fence) bool {
	h := r.Record.Hold(id)
	return id != 0 && h != nil && !h.Offered
}

// Renewed is r with another end of one hold. Its version stays, which is v.
func (r *Row) Renewed(e End, v ledger.Version) Row {
	return Row{Ends: r.Ends.But(e), Record: r.Record, Kept: v}
}

// Swapped is the row that s writes in place of one with the ends was. Those of which no lease
// begins end as they did; own tells how one of node ends that begins. A new record counts from
// top, the clock or s.Floor, whichever is the highest.
func Swapped(s *ledger.Swap, was Ends, node string, top backend.Fence, own func(ttl time.Duration) (End, error)) (Row, error) {
	r := Row{Record: s.Record.Clone()}
	for i := range r.Record.Holds {
		h := &r.Record.Holds[i]
		ttl, begins := ledger.LeaseOf(s.Effects.Stamps, h.ID)
		e, ok := was.Find(h.ID)
		switch {
		case h.ID == 0 || !begins && !ok:
			continue
		case !begins:
		case h.Offered || h.Node == "":
			e = End{TTL: ttl, Until: Clock() + ttl.Microseconds()}
		case h.Node != node:
			return r, fmt.Errorf("%w: a lease begins that is of another node, %s", backend.ErrInvalid, h.Node)
		default:
			var err error
			if e, err = own(ttl); err != nil {
				return r, err
			}
		}
		e.ID = h.ID
		r.Ends = append(r.Ends, e)
	}
	if s.Base == "" && !s.Absolute {
		base := max(top, backend.Fence(Clock()), s.Floor)
		r.Record.Rebase(base)
		for i := range r.Ends {
			r.Ends[i].ID += base
		}
	}
	return r, nil
}

// Reply tells r, which has the version v, without the ends of holds.
func (r *Row) Reply(v ledger.Version) ledger.Reply {
	return ledger.Reply{Version: v, Record: r.Record, Clock: Clock()}
}
