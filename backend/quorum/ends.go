package quorum

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// End of one hold.
type End struct {
	ID  backend.Fence
	TTL time.Duration // that was asked for
	// Under is the lease or session of the node which holds: the hold is over when that has been
	// gone for Spare. "": nobody renews the hold, and clocks of gateways say when it is over
	// (offers, lock.delay).
	Under string
	Spare time.Duration
	// Until is that end by the clock of who wrote it, in microseconds since 1970.
	Until int64
}

// Ends of the holds of a record. A hold that is not among them is over.
type Ends []End

// Find is that of a hold.
func (es Ends) Find(id backend.Fence) (End, bool) {
	i := slices.IndexFunc(es, func(e End) bool { return e.ID == id })
	if i < 0 {
		return End{}, false
	}
	return es[i], true
}

// But is es with e in place of what was there of its hold.
func (es Ends) But(e End) Ends {
	out := slices.DeleteFunc(slices.Clone(es), func(x End) bool { return x.ID == e.ID })
	return append(out, e)
}

// Fill sets the ends in r, by how long each hold lasts from now on.
func (es Ends) Fill(r *ledger.Record, left func(End) time.Duration) {
	for i := range r.Holds {
		h := &r.Holds[i]
		h.End = 0
		if e, ok := es.Find(h.ID); ok {
			h.End = left(e)
		}
	}
}

// String is the ends as they stand in a row and in a version.
func (es Ends) String() string {
	texts := make([]string, len(es))
	for i, e := range es {
		switch {
		case e.Under == "":
			texts[i] = fmt.Sprintf("%d~%d:%d", e.ID, e.Until, e.TTL.Milliseconds())
		case e.Spare == 0:
			texts[i] = fmt.Sprintf("%d=%s:%d", e.ID, e.Under, e.TTL.Milliseconds())
		default:
			texts[i] = fmt.Sprintf("%d=%s:%d:%d", e.ID, e.Under, e.TTL.Milliseconds(), e.Spare.Milliseconds())
		}
	}
	return strings.Join(texts, ",")
}

var errEnds = errors.New("the ends of the holds cannot be read")

// ParseEnds reads what String made.
func ParseEnds(text string) (es Ends, err error) {
	if text == "" {
		return nil, nil
	}
	for _, one := range strings.Split(text, ",") {
		e, err := parseEnd(one)
		if err != nil {
			return nil, errEnds
		}
		es = append(es, e)
	}
	return es, nil
}

func parseEnd(text string) (e End, err error) {
	words := strings.Split(text, ":")
	i := strings.IndexAny(words[0], "=~")
	if i < 0 || len(words) < 2 {
		return e, errEnds
	}
	id, err := strconv.ParseUint(words[0][:i], 10, 64)
	e.ID = backend.Fence(id)
	ttl, err2 := milliseconds(words[1])
	e.TTL = ttl
	var err3 error
	switch what := words[0][i+1:]; {
	case words[0][i] == '~' && len(words) == 2:
		e.Until, err3 = strconv.ParseInt(what, 10, 64)
	case words[0][i] == '=' && len(words) <= 3 && isName(what):
		e.Under = what
		if len(words) == 3 {
			e.Spare, err3 = milliseconds(words[2])
		}
	default:
		err3 = errEnds
	}
	return e, errors.Join(err, err2, err3)
}

func milliseconds(text string) (time.Duration, error) {
	n, err := strconv.ParseUint(text, 10, 40)
	return time.Duration(n) * time.Millisecond, err
}

// isName: text may name a lease or a session. It becomes part of a key.
func isName(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// mostSeen bounds what is remembered of clocks. What is forgotten is observed anew.
const mostSeen = 10_000

// Clocks have when holds were first seen here that end by the clocks of gateways.
type Clocks struct {
	mu    sync.Mutex // guards the field below
	first map[seen]time.Duration
}

type seen struct {
	name string
	id   backend.Fence
}

// Left is how long the hold e lasts: nobody prolongs it. It is over once it was seen here for
// its ttl, so that no difference of clocks ends it early; or once it is over for another ttl by
// the clock of who wrote it, so that who comes a day later need not wait. Without a ttl it is
// over: its node has said so.
func (c *Clocks) Left(name string, e End) time.Duration {
	if e.TTL == 0 {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := now()
	key := seen{name, e.ID}
	first, ok := c.first[key]
	if !ok {
		first = at
		Put(&c.first, mostSeen, key, first)
	}
	return min(first+e.TTL-at, time.Duration(e.Until-Clock())*time.Microsecond+e.TTL)
}
