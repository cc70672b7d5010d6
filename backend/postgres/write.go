package postgres

import (
	"fmt"
	"strings"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// write is a Swap on its way.
type write struct {
	ledger.Swap
	raw     string // configured prefix and name
	next    int64
	relaxed bool
	run     string // of the server, that it needs; "": any
	sql     string
	args    []any
	tells   bool // its statement sends its message
}

// maxPayload is how long a message may be, but for its end: PostgreSQL takes 7,999 bytes.
const maxPayload = 7900

// write makes the statement that carries out s if the server is trusted under the id run.
func (t *Table) write(s ledger.Swap, run string) (write, error) {
	text := ledger.Encode(s.Record)
	w := write{Swap: s, raw: t.Raw(s.Name), next: sqltable.NewVersion(), relaxed: s.Relaxed(), run: run}
	ids, firm, ttls := []int64{}, []bool{}, []int64{}
	for _, h := range s.Record.Holds {
		ttl := int64(-1)
		if lease, begins := ledger.LeaseOf(s.Effects.Stamps, h.ID); begins {
			ttl = lease.Microseconds()
		}
		ids, firm, ttls = append(ids, int64(h.ID)), append(firm, !h.Offered), append(ttls, ttl)
	}
	w.args = []any{w.raw, run, w.relaxed, w.next, string(text), ids, firm, ttls}
	if s.Base == "" {
		w.sql, w.args = insertSQL, append(w.args, int64(s.Floor), s.Absolute)
		return w, nil
	}
	base, err := sqltable.ParseVersion(s.Base)
	if err != nil {
		return write{}, err
	}
	w.args = append(w.args, base)
	if len(s.Effects.Ended) > 0 || len(ids) > 1 || len(ids) == 1 && ttls[0] < 0 {
		over := []int64{}
		for _, id := range s.Effects.Ended {
			over = append(over, int64(id))
		}
		w.sql, w.args = swapSQL, append(w.args, over)
		return w, nil
	}
	w.sql = freshSQL
	if ms := s.Effects.Messages; len(ms) == 1 && w.relaxed {
		if payload := w.payload(ms[0], ids, text); len(payload) <= maxPayload {
			w.sql, w.args, w.tells = handedSQL, append(w.args, channelPrefix+ms[0].Node, payload), true
		}
	}
	return w, nil
}

// payload is the message m with what w writes, up to the time, which the database knows.
func (w *write) payload(m ledger.Message, ids []int64, record []byte) string {
	return fmt.Sprintf(`%s {"version":%d,"ids":[%s],"record":%s,"clock":`, ledger.Heading(m.Kind, w.Name), w.next, strings.Trim(string(encode(ids)), "{}"), record)
}

// reply is what is there once w was carried out.
func (w *write) reply(a answer) (ledger.Reply, error) {
	if w.Base == "" { // the fences were counted from somewhere
		r, err := a.reply(w.raw)
		r.Written = true
		return r, err
	}
	r := ledger.Reply{Version: sqltable.Version(w.next), Record: w.Record.Clone(), Clock: a.clock, Written: true}
	return r, a.putEnds(&r.Record, w.raw)
}

// answer is a row that a statement about a name tells.
type answer struct {
	trusted   bool
	version   int64 // 0: there is no record
	record    string
	ids, ends []int64
	clock     int64
}

func readAnswer(got sqltable.Rows) (answer, error) {
	if len(got) != 1 {
		return answer{}, fmt.Errorf("%w: PostgreSQL has told %d rows, and not one", backend.ErrUnavailable, len(got))
	}
	r := sqltable.NewReader(got[0])
	a := answer{trusted: r.Is()}
	a.read(r)
	return a, r.Err
}

// read reads the columns of what is there.
func (a *answer) read(r *sqltable.Reader) {
	a.version, a.record, a.ids, a.ends, a.clock = r.Number(), r.Text(), numbers(r), numbers(r), r.Number()
}

// readReply is that of sqltable.Database.
func readReply(raw string, r *sqltable.Reader) (ledger.Reply, error) {
	var a answer
	if a.read(r); r.Err != nil {
		return ledger.Reply{}, r.Err
	}
	return a.reply(raw)
}

// reply tells what is there.
func (a answer) reply(raw string) (ledger.Reply, error) {
	r, err := sqltable.NewReply(raw, a.version, a.record, a.clock)
	if err != nil || r.Version == "" {
		return r, err
	}
	return r, a.putEnds(&r.Record, raw)
}

// putEnds gives the holds of r, which is of the same row, their ends.
func (a answer) putEnds(r *ledger.Record, raw string) error {
	if len(a.ids) != len(r.Holds) || len(a.ends) != len(r.Holds) {
		return sqltable.WrongEnds(raw, len(r.Holds), len(a.ends))
	}
	for i := range r.Holds {
		r.Holds[i].End = sqltable.Duration(a.ends[i] - a.clock)
	}
	return nil
}
