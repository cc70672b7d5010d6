package redis

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis/conn"
	"github.com/lockgw/lockgw/backend/redis/requests"
)

const (
	headLength = versionLength + 1 + 16 + 1 + 13 + 1 + 3 // the last is the length of the lock
)

// stored is a record as Redis has it; see record.lua.
type stored struct {
	version ledger.Version
	ends    ends
	locked  bool // programs outside lockgw have to see a lock
	record  ledger.Record
}

func parseStored(text string) (stored, error) {
	if text == "" {
		return stored{}, nil
	}
	head, rest, ok := strings.Cut(text, "\n")
	if !ok || len(head) < headLength {
		return stored{}, fmt.Errorf("not a record of lockgw")
	}
	s := stored{version: ledger.Version(head[:versionLength])}
	if n, _ := strconv.Atoi(head[headLength-3 : headLength]); n > 0 {
		s.locked = true
		s.ends.all = head[min(headLength+1+n, len(head)):]
	} else {
		s.ends.all = head[headLength:]
	}
	body, joined, _ := strings.Cut(rest, "\n")
	var err error
	if s.record, err = ledger.Decode([]byte(body)); err != nil {
		return stored{}, err
	}
	for line := range strings.SplitSeq(joined, "\n") {
		var e ledger.Entry
		if line == "" {
			continue
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return stored{}, fmt.Errorf("a node that has joined: %w", err)
		}
		s.record.Join(e)
	}
	return s, nil
}

// ends of holds, each behind a space: the fence, = or ?, and ms since 1970. They are asked for
// in the order in which they stand there, as a rule, so it looks behind the last one first: a
// name may have a thousand.
type ends struct {
	all, left string
}

// of is when the hold with that fence ends; 0: it is not there.
func (e *ends) of(id backend.Fence) int64 {
	at, left, ok := endOf(e.left, id)
	if !ok {
		at, left, ok = endOf(e.all, id)
	}
	if ok {
		e.left = left
	}
	return at
}

// endOf looks for a hold in text; left is what stands behind it.
func endOf(text string, id backend.Fence) (ms int64, left string, ok bool) {
	want := strconv.FormatUint(uint64(id), 10)
	for one, left := "", text; left != ""; {
		one, left, _ = strings.Cut(left, " ")
		if at, ok := strings.CutPrefix(one, want); ok && len(at) > 0 && (at[0] == '=' || at[0] == '?') {
			ms, _ := strconv.ParseInt(at[1:], 10, 64)
			return ms, left, true
		}
	}
	return 0, "", false
}

// The lock that programs outside lockgw see, as a script finds it.
const (
	lockGone = iota
	lockOurs
	lockForeign
)

// outsider is what a script tells of a lock that is not as the record has it.
type outsider struct {
	state int
	left  time.Duration // below 0: it has no end
	rest  time.Duration // of one who waits for what has no end, before it looks again
	owner backend.Owner // "": it is no hash
	count int
	other bool // it is of a kind that lockgw does not have
}

// hold is how a holder outside lockgw stands in a Reply.
func (o outsider) hold() ledger.Hold {
	end := o.left
	if end < 0 {
		end = o.rest
	}
	h := ledger.Hold{Mode: backend.Exclusive, Count: 1, End: max(end, time.Millisecond), Endless: o.left < 0}
	if o.owner != "" {
		h.Callers = []ledger.Caller{{Owner: o.owner, Entries: max(o.count, 1)}}
	}
	return h
}

// reply is s at the time us, with the lock as o says. A hold whose lock somebody has
// taken or deleted is over, and its node has to see that.
func (s stored) reply(o outsider, us int64) ledger.Reply {
	r := ledger.Reply{Version: s.version, Record: s.record, Clock: us}
	r.Record.Holds = slices.Clone(r.Record.Holds)
	for i := range r.Record.Holds {
		h := &r.Record.Holds[i]
		h.End = time.Duration(s.ends.of(h.ID)-us/1000) * time.Millisecond
	}
	if s.locked && o.state != lockOurs {
		r.Record.Holds = slices.DeleteFunc(r.Record.Holds, func(h ledger.Hold) bool {
			gone := o.state == lockForeign || h.End > 0
			if gone {
				r.Deleted = append(r.Deleted, h.ID)
			}
			return gone
		})
	}
	if o.state == lockForeign {
		r.Record.Holds = append(r.Record.Holds, o.hold())
		if o.other {
			r.Record.Size = ledger.OtherKind
		}
	}
	return r
}

// micros is what Redis' TIME says, in microseconds.
func micros(seconds, micros int64) int64 { return seconds*1_000_000 + micros }

// readThere reads what there.lua answers.
func readThere(a conn.Reply, rest time.Duration) (ledger.Reply, error) {
	s, err := parseStored(a.Text(1))
	if err != nil {
		return ledger.Reply{}, err
	}
	o := outsider{state: int(a.Number(4)), left: time.Duration(a.Number(5)) * time.Millisecond, owner: backend.Owner(a.Text(6)), count: int(a.Number(7)), other: a.Number(10) == 1, rest: rest}
	r := s.reply(o, micros(a.Number(2), a.Number(3)))
	if o.state == lockForeign {
		r.Seen = seenOf(a.Text(9), a.Number(5))
	}
	if given := a.Fence(8); s.version != "" { // Redisson's; the next one is above it
		r.Record.Top = max(r.Record.Top, given)
	}
	return r, nil
}

// lock is what programs outside lockgw see of a record.
type lock struct {
	kind   string   // how record.lua has it
	field  string   // of lockHeld; the first of lockShared
	number string   // in the field; of lockShared what is in mode
	fields []string // of lockShared, each with its number
}

const (
	lockNone    = ""
	lockHeld    = "@"
	lockShared  = "~"
	lockOutside = "!" // that of somebody else
)

// lockOf is the lock that there has to be where r is the record.
func lockOf(r *ledger.Record) lock {
	var only *ledger.Hold
	mode := backend.Exclusive
	for i := range r.Holds {
		h := &r.Holds[i]
		if h.ID == 0 {
			return lock{kind: lockOutside}
		}
		only = h
		if h.Mode != backend.Exclusive {
			mode = h.Mode
		}
	}
	switch {
	case only == nil:
		return lock{}
	case len(r.Holds) == 1 && mode == backend.Exclusive:
		field, n := fieldOf(only), 1
		if len(only.Callers) > 0 && !only.Offered {
			if c := only.Callers[0]; c.Owner != "" && len(c.Owner) <= maxField && !strings.Contains(string(c.Owner), "\n") {
				field, n = string(c.Owner), max(c.Entries, 1)
			}
		}
		return lock{kind: lockHeld, field: field, number: strconv.Itoa(n)}
	}
	var fields []string
	for i := range r.Holds {
		fields = append(fields, fieldOf(&r.Holds[i]), strconv.Itoa(r.Holds[i].Count))
	}
	return lock{kind: lockShared, field: fields[0], number: "lockgw " + strconv.Itoa(int(mode)), fields: fields}
}

// maxField is the longest field that a record has room for.
const maxField = 500

// add tells swap.lua of l: how long kind and field are, and these.
func (l *lock) add(m *requests.Message) {
	switch l.kind {
	case lockNone, lockOutside:
		m.Add(l.kind)
	default:
		n := strconv.Itoa(len(l.kind) + len(l.field))
		m.Add("000"[len(n):], n, " ", l.kind, l.field)
	}
}

// fieldOf is the field of a hold that is not shown as that of its caller.
func fieldOf(h *ledger.Hold) string {
	switch {
	case h.Node == "":
		return "lockgw:delay"
	case h.Offered:
		return h.Node + ":1"
	default:
		return h.Node + ":0"
	}
}
