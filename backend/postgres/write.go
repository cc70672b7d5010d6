package postgres

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
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
	w := write{Swap: s, raw: t.Raw(s.Name), next: version(), relaxed: s.Relaxed(), run: run}
	begins := map[backend.Fence]int64{}
	for _, st := range s.Effects.Stamps {
		begins[st.ID] = st.TTL.Microseconds()
	}
	ids, firm, ttls := []int64{}, []bool{}, []int64{}
	for _, h := range s.Record.Holds {
		ttl, begun := begins[h.ID]
		if !begun {
			ttl = -1
		}
		ids, firm, ttls = append(ids, int64(h.ID)), append(firm, !h.Offered), append(ttls, ttl)
	}
	w.args = []any{w.raw, run, w.relaxed, w.next, string(text), ids, firm, ttls}
	if s.Base == "" {
		w.sql, w.args = t.sql.insert, append(w.args, int64(s.Floor), s.Absolute)
		return w, nil
	}
	base, err := strconv.ParseInt(string(s.Base), 10, 64)
	if err != nil {
		return write{}, fmt.Errorf("%w: %q is no version of a record in PostgreSQL", backend.ErrInvalid, s.Base)
	}
	w.args = append(w.args, base)
	if len(s.Effects.Ended) > 0 || len(ids) > 1 || len(ids) == 1 && ttls[0] < 0 {
		over := []int64{}
		for _, id := range s.Effects.Ended {
			over = append(over, int64(id))
		}
		w.sql, w.args = t.sql.swap, append(w.args, over)
		return w, nil
	}
	w.sql = t.sql.fresh
	if ms := s.Effects.Messages; len(ms) == 1 && w.relaxed {
		if payload := w.payload(ms[0], ids, text); len(payload) <= maxPayload {
			w.sql, w.args, w.tells = t.sql.handed, append(w.args, channelPrefix+ms[0].Node, payload), true
		}
	}
	return w, nil
}

// payload is the message m with what w writes, up to the time, which the database knows.
func (w *write) payload(m ledger.Message, ids []int64, record []byte) string {
	return fmt.Sprintf(`%s {"version":%d,"ids":[%s],"record":%s,"clock":`, heading(m.Kind, w.Name), w.next, strings.Trim(string(encode(ids)), "{}"), record)
}

// reply is what is there once w was carried out.
func (w *write) reply(a answer) (ledger.Reply, error) {
	if w.Base == "" { // the fences were counted from somewhere
		r, err := a.reply(w.raw)
		r.Written = true
		return r, err
	}
	r := ledger.Reply{Version: versionText(&w.next), Record: w.Record.Clone(), Clock: a.clock, Written: true}
	return r, a.putEnds(&r.Record, w.raw)
}

// answer is a row that a statement about a name tells.
type answer struct {
	written, trusted bool
	version          *int64 // nil: there is no record
	record           *string
	ids, ends        []int64
	clock            int64
}

func readAnswer(got rows) (answer, error) {
	if len(got) != 1 {
		return answer{}, fmt.Errorf("%w: PostgreSQL has told %d rows, and not one", backend.ErrUnavailable, len(got))
	}
	r := reader{row: got[0]}
	written, trusted := r.bool(), r.bool()
	a := r.there()
	a.written, a.trusted = written, trusted
	return a, r.err
}

// there reads the columns of what is there.
func (r *reader) there() (a answer) {
	if v, ok := r.number(); ok {
		a.version = &v
	}
	if text := r.next(); text != nil {
		record := string(text)
		a.record = &record
	}
	a.ids, a.ends = r.numbers(), r.numbers()
	a.clock, _ = r.number()
	return a
}

// reply reads what is there.
func (a answer) reply(raw string) (ledger.Reply, error) {
	r := ledger.Reply{Version: versionText(a.version), Clock: a.clock}
	if a.version == nil || a.record == nil {
		return r, nil
	}
	var err error
	if r.Record, err = ledger.Decode([]byte(*a.record)); err != nil {
		return ledger.Reply{}, fmt.Errorf("%w: the row of %s: %w", backend.ErrRefused, raw, err)
	}
	return r, a.putEnds(&r.Record, raw)
}

// putEnds gives the holds of r, which is of the same row, their ends.
func (a answer) putEnds(r *ledger.Record, raw string) error {
	if len(a.ids) != len(r.Holds) || len(a.ends) != len(r.Holds) {
		return fmt.Errorf("%w: the row of %s has %d holds and %d ends: it was changed by hand; delete it when nobody holds the lock",
			backend.ErrRefused, raw, len(r.Holds), len(a.ends))
	}
	for i := range r.Holds {
		r.Holds[i].End = duration(a.ends[i] - a.clock)
	}
	return nil
}
