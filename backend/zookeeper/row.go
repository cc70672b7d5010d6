package zookeeper

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// format is how the first line of a row is written. One in a later format is not touched.
const format = "1"

// none is a word of that line that says nothing.
const none = "-"

// place is where a row stands. The version of a znode begins anew when it was deleted and
// made again, so only both together are never used twice.
type place struct {
	born    int64 // the zxid by which the znode was made; 0: there is none
	version int32
}

func placeOf(st *zk.Stat) place { return place{st.Czxid, st.Version} }

// row is the value of the znode of a name: a line with how its holds end, then the record as
// package ledger writes it, so that a person can read both.
type row struct {
	place  place
	in     bucket // as it was before the row was read
	ends   ends
	record ledger.Record
	// kept is the version of a row that was written again by a renewal, which is none.
	kept ledger.Version
}

// end of one hold.
type end struct {
	id  backend.Fence
	ttl time.Duration // that was asked for
	// session is that of the node which holds: the hold is over when its znode has been gone
	// for spare. "": nobody renews the hold, and clocks of gateways say when it is over
	// (offers, lock.delay).
	session string
	// spare is how much longer the hold may last than the session.
	spare time.Duration
	// until is the end by the clock of who wrote it, in microseconds since 1970.
	until int64
}

type ends []end

func (es ends) find(id backend.Fence) (end, bool) {
	i := slices.IndexFunc(es, func(e end) bool { return e.id == id })
	if i < 0 {
		return end{}, false
	}
	return es[i], true
}

// but is es with e in place of what was there of its hold.
func (es ends) but(e end) ends {
	out := slices.DeleteFunc(slices.Clone(es), func(x end) bool { return x.id == e.id })
	return append(out, e)
}

// String is the ends as they stand in the first line and in a version.
func (es ends) String() string {
	texts := make([]string, len(es))
	for i, e := range es {
		if e.session != "" {
			texts[i] = fmt.Sprintf("%d=%s:%d:%d", e.id, e.session, e.ttl.Milliseconds(), e.spare.Milliseconds())
		} else {
			texts[i] = fmt.Sprintf("%d~%d:%d", e.id, e.until, e.ttl.Milliseconds())
		}
	}
	return strings.Join(texts, ",")
}

var errEnds = errors.New("the ends of the holds cannot be read")

func parseEnds(text string) (ends, error) {
	if text == "" {
		return nil, nil
	}
	var es ends
	for _, one := range strings.Split(text, ",") {
		e, err := parseEnd(one)
		if err != nil {
			return nil, err
		}
		es = append(es, e)
	}
	return es, nil
}

func parseEnd(text string) (end, error) {
	words := strings.Split(text, ":")
	i := strings.IndexAny(words[0], "=~")
	if i < 0 || len(words) < 2 {
		return end{}, errEnds
	}
	id, err := strconv.ParseUint(words[0][:i], 10, 64)
	ttl, err2 := strconv.ParseUint(words[1], 10, 40)
	e := end{id: backend.Fence(id), ttl: time.Duration(ttl) * time.Millisecond}
	if errors.Join(err, err2) != nil {
		return end{}, errEnds
	}
	switch what := words[0][i+1:]; {
	case words[0][i] == '~' && len(words) == 2:
		e.until, err = strconv.ParseInt(what, 10, 64)
	case words[0][i] == '=' && len(words) == 3 && isSession(what):
		var spare uint64
		spare, err = strconv.ParseUint(words[2], 10, 40)
		e.session, e.spare = what, time.Duration(spare)*time.Millisecond
	default:
		err = errEnds
	}
	if err != nil {
		return end{}, errEnds
	}
	return e, nil
}

// isSession: text is a name that newSession may have made. It becomes part of a path.
func isSession(text string) bool {
	return text != "" && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// version of a row. It begins with its place, and has the ends, so that a write knows without
// reading by what they are proven.
func (r *row) version() ledger.Version {
	switch {
	case r.place.born == 0:
		return ""
	case r.kept != "":
		return r.kept
	default:
		return ledger.Version(fmt.Sprintf("%x.%d@%s", uint64(r.place.born), r.place.version, r.ends))
	}
}

// parseVersion reads what version made.
func parseVersion(v ledger.Version) (place, ends, error) {
	if v == "" {
		return place{}, nil, nil
	}
	number, text, ok := strings.Cut(string(v), "@")
	born, version, ok2 := strings.Cut(number, ".")
	zxid, err := strconv.ParseUint(born, 16, 64)
	n, err2 := strconv.ParseInt(version, 10, 32)
	es, err3 := parseEnds(text)
	if errors.Join(err, err2, err3) != nil || !ok || !ok2 || zxid == 0 {
		return place{}, nil, fmt.Errorf("%w: %q is no version of a record in ZooKeeper", backend.ErrInvalid, v)
	}
	return place{int64(zxid), int32(n)}, es, nil
}

// encode is the value of the znode.
func (r *row) encode() (string, error) {
	text, err := ledger.Encode(r.record)
	if err != nil {
		return "", fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	return fmt.Sprintf("%s %s %s\n%s", format, cmp.Or(r.ends.String(), none), cmp.Or(string(r.kept), none), text), nil
}

// decode reads what encode made.
func decode(value string, at place) (row, error) {
	first, text, _ := strings.Cut(value, "\n")
	words := strings.Split(first, " ")
	if len(words) != 3 || words[0] != format {
		return row{}, errors.New("not a record that this version of lockgw reads")
	}
	for i, w := range words {
		words[i] = strings.TrimSuffix(w, none)
	}
	es, err := parseEnds(words[1])
	if err != nil {
		return row{}, err
	}
	record, err := ledger.Decode([]byte(text))
	return row{place: at, ends: es, record: record, kept: ledger.Version(words[2])}, err
}

// readRow is what the znode of a name has.
func readRow(path string, value []byte, st *zk.Stat) (row, error) {
	r, err := decode(string(value), placeOf(st))
	if err != nil {
		return row{}, fmt.Errorf("%w: the znode %s of ZooKeeper: %w", errForeign, path, err)
	}
	return r, nil
}
