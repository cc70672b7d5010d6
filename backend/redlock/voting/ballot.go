package voting

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// ballot orders the rounds about a name. who has never been used by another round, so no
// two rounds have the same ballot. The zero ballot is that of nothing.
type ballot struct {
	n   uint64
	who string
}

func (b ballot) less(o ballot) bool {
	return cmp.Or(cmp.Compare(b.n, o.n), strings.Compare(b.who, o.who)) < 0
}

// next is for the next write of who has written at b. Each server promises it together with
// accepting b.
func (b ballot) next() ballot { return ballot{b.n + 1, b.who} }

// String is what parseBallot reads.
func (b ballot) String() string { return strconv.FormatUint(b.n, 10) + "." + b.who }

func parseBallot(text string) (b ballot, err error) {
	n, who, ok := strings.Cut(text, ".")
	if b.n, err = strconv.ParseUint(n, 10, 64); err == nil && !ok {
		err = fmt.Errorf("%q is no ballot", text)
	}
	b.who = who
	return b, err
}

// vote is what a server has promised and accepted of a name.
type vote struct {
	promised ballot // it accepts nothing below
	accepted ballot // of the record that it has; zero: none
	// first is the ballot at which that record was first proposed, which is its version;
	// past are those of the records before it, the last one of each Table, the newest first.
	first ballot
	past  []ballot
	holds []backend.Fence // that the record has, also where their lock was deleted since
}

// generations is of how many Tables a record remembers the last write: enough to tell
// whether a write that was overtaken had been carried out.
const generations = 8

// String is what parseVote reads.
func (v vote) String() string {
	text := v.promised.String() + " " + v.accepted.String() + " " + v.first.String()
	for _, b := range v.past {
		text += " " + b.String()
	}
	for _, id := range v.holds {
		text += holdMark + strconv.FormatUint(uint64(id), 10)
	}
	return text
}

// holdMark begins a hold in the text of a vote. No ballot has it.
const holdMark = " #"

func parseVote(text string) (v vote, err error) {
	text, holds, _ := strings.Cut(text, holdMark)
	parts := strings.Split(text, " ")
	all := make([]ballot, len(parts))
	for i, p := range parts {
		if all[i], err = parseBallot(p); err != nil {
			return v, err
		}
	}
	if len(all) < 3 {
		return v, fmt.Errorf("%q is no vote", text)
	}
	v = vote{promised: all[0], accepted: all[1], first: all[2], past: all[3:]}
	for holds != "" {
		var id string
		id, holds, _ = strings.Cut(holds, holdMark)
		n, err := strconv.ParseUint(id, 10, 63)
		if err != nil {
			return vote{}, fmt.Errorf("%q names no hold: %w", id, err)
		}
		v.holds = append(v.holds, backend.Fence(n))
	}
	return v, nil
}

// version of the record.
func (v vote) version() ledger.Version {
	if v.accepted == (ballot{}) {
		return ""
	}
	return ledger.Version(v.first.String())
}

// after is the past of a record that comes after this one.
func (v vote) after() []ballot {
	past := []ballot{v.first}
	for _, b := range v.past {
		if !b.sameTable(v.first) {
			past = append(past, b)
		}
	}
	return past[:min(len(past), generations)]
}

// nonceLength is that of the part of ballot.who that names the Table.
const nonceLength = 12

func (b ballot) sameTable(o ballot) bool {
	return b.who[:min(len(b.who), nonceLength)] == o.who[:min(len(o.who), nonceLength)]
}

// follows: the record is that which was first proposed at b, or comes after it. known is
// false if that cannot be told; base is the version that b was proposed after.
func (v vote) follows(b ballot, base ledger.Version) (is, known bool) {
	if v.version() == base {
		return false, true
	}
	after, err := parseBallot(string(base))
	reaches := base == "" || len(v.past) < generations // back to base
	for _, x := range append([]ballot{v.first}, v.past...) {
		switch {
		case x == b:
			return true, true
		case x.sameTable(b) && b.less(x): // which may have come after b
			return false, false
		case err == nil && !after.less(x):
			reaches = true
		}
	}
	return false, reaches
}
