package mysql

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// The holds of a row with their ends are a text, 34 bytes each:
//
//	:IIIIIIIIIIIIIIIIfEEEEEEEEEEEEEEEE
//
// I is the id of the hold, f that it is one (o: it is only offered), E when it ends, in
// microseconds since 1970, both in decimal with zeros before. So statements find a hold by
// LOCATE, and change its end alone.
const (
	digits   = 16 // 2^53 has as many
	toEnd    = 1 + digits + 1
	eachHold = toEnd + digits
)

// tagOf is how the hold id is found; offered does not matter.
func tagOf(id backend.Fence) string { return fmt.Sprintf(":%016d", id) }

// firmTag is how the hold id is found if it is no offer.
func firmTag(id backend.Fence) string { return tagOf(id) + "f" }

func firmness(h ledger.Hold) string {
	if h.Offered {
		return "o"
	}
	return "f"
}

// putEnds gives the holds of r, whose ends are text at the time clock, their ends. Those that
// are not in it are over.
func putEnds(r *ledger.Record, text string, clock int64) {
	for i := range r.Holds {
		r.Holds[i].End = 0
		if end, ok := endOf(text, tagOf(r.Holds[i].ID)); ok {
			r.Holds[i].End = sqltable.Duration(end - clock)
		}
	}
}

// endOf is the end of the hold that begins with tag.
func endOf(text, tag string) (int64, bool) {
	at := strings.Index(text, tag)
	if at < 0 || len(text) < at+eachHold {
		return 0, false
	}
	end, err := strconv.ParseInt(text[at+toEnd:at+eachHold], 10, 64)
	return end, err == nil
}
