package etcd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// format is how the first line of a row is written. One in a later format is not touched.
const format = "1"

// none is a word of that line that says nothing.
const none = "-"

// row is what is at the key of a name: a line with how its holds end, then the record as
// package ledger writes it, so that a person can read both.
type row struct {
	rev    int64 // the ModRevision of the key; 0: there is none
	ends   ends
	record ledger.Record
	// kept is the version of a row that was written again by a renewal, which is none.
	kept ledger.Version
}

// end of one hold.
type end struct {
	id  backend.Fence
	ttl time.Duration // that was asked for
	// lease is that of the node which holds: the hold is over when it has expired. 0: nobody
	// renews the hold, and clocks of gateways say when it is over (offers, lock.delay).
	lease clientv3.LeaseID
	// until is that end by the clock of who wrote it, in microseconds since 1970.
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

// String is the ends as they stand in the first line and in a version.
func (es ends) String() string {
	texts := make([]string, len(es))
	for i, e := range es {
		if e.lease != 0 {
			texts[i] = fmt.Sprintf("%d=%x:%d", e.id, uint64(e.lease), e.ttl.Milliseconds())
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
		what, ms, ok := strings.Cut(one, ":")
		i := strings.IndexAny(what, "=~")
		if !ok || i < 0 {
			return nil, errEnds
		}
		id, err := strconv.ParseUint(what[:i], 10, 64)
		ttl, err2 := strconv.ParseInt(ms, 10, 64)
		e := end{id: backend.Fence(id), ttl: time.Duration(ttl) * time.Millisecond}
		var err3 error
		if what[i] == '=' {
			var lease uint64
			lease, err3 = strconv.ParseUint(what[i+1:], 16, 64)
			e.lease = clientv3.LeaseID(lease)
		} else {
			e.until, err3 = strconv.ParseInt(what[i+1:], 10, 64)
		}
		if errors.Join(err, err2, err3) != nil {
			return nil, errEnds
		}
		es = append(es, e)
	}
	return es, nil
}

// version of a row. It begins with the revision, which no later write has again, and has
// the ends, so that a write knows without reading by what they are proven.
func (r *row) version() ledger.Version {
	switch {
	case r.rev == 0:
		return ""
	case r.kept != "":
		return r.kept
	default:
		return ledger.Version(fmt.Sprintf("%d@%s", r.rev, r.ends))
	}
}

// parseVersion reads what version made.
func parseVersion(v ledger.Version) (rev int64, es ends, err error) {
	if v == "" {
		return 0, nil, nil
	}
	number, text, ok := strings.Cut(string(v), "@")
	rev, err = strconv.ParseInt(number, 10, 64)
	if err == nil {
		es, err = parseEnds(text)
	}
	if err != nil || !ok || rev <= 0 {
		return 0, nil, fmt.Errorf("%w: %q is no version of a record in etcd", backend.ErrInvalid, v)
	}
	return rev, es, nil
}

// encode is the value of the key.
func (r *row) encode() (string, error) {
	text, err := ledger.Encode(r.record)
	if err != nil {
		return "", fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	return fmt.Sprintf("%s %s %s\n%s", format, cmp.Or(r.ends.String(), none), cmp.Or(string(r.kept), none), text), nil
}

// decode reads what encode made.
func decode(value string, rev int64) (row, error) {
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
	return row{rev: rev, ends: es, record: record, kept: ledger.Version(words[2])}, err
}

// readRow is what a key has; kv nil: nothing.
func (t *Table) readRow(kv *mvccpb.KeyValue) (row, error) {
	if kv == nil {
		return row{}, nil
	}
	r, err := decode(string(kv.Value), kv.ModRevision)
	if err != nil {
		return row{}, fmt.Errorf("%w: the key %s of etcd: %w", backend.ErrRefused, kv.Key, err)
	}
	return r, nil
}

func only(kvs []*mvccpb.KeyValue) *mvccpb.KeyValue {
	if len(kvs) == 0 {
		return nil
	}
	return kvs[0]
}
