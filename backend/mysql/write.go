package mysql

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
	raw  string // configured prefix and name
	next int64
	base int64 // 0: there was no record
	text string
	run  sqltable.Run // that it needs; ID "": any
	node string
	far  int64 // the number of the newest sign of life of node, which has to be there with the run
}

// write makes what carries out s if the server is trusted under run.
func (t *Table) write(s ledger.Swap, run sqltable.Run) (*write, error) {
	text := ledger.Encode(s.Record)
	if len(text) > maxPacket/8 {
		return nil, fmt.Errorf("%w: the record of %s has %d bytes, and MySQL may refuse more than %d: too many gateways wait for it, or hold it", backend.ErrRefused, s.Name, len(text), maxPacket/8)
	}
	base, err := sqltable.ParseVersion(s.Base)
	return &write{Swap: s, raw: t.Raw(s.Name), next: sqltable.NewVersion(), base: base, text: string(text), run: run, node: t.Node(), far: t.Runs.Far()}, err
}

// statement is SQL with its arguments, in pieces.
type statement struct {
	sql  strings.Builder
	args []any
}

func (s *statement) add(sql string, args ...any) {
	s.sql.WriteString(sql)
	s.args = append(s.args, args...)
}

// stamp is how long the lease of the hold id lasts that begins, in microseconds.
func (w *write) stamp(id backend.Fence) (int64, bool) {
	ttl, begins := ledger.LeaseOf(w.Effects.Stamps, id)
	return ttl.Microseconds(), begins
}

// stays: an end is as it was before, so that nobody knows it who has not read it.
func (w *write) stays() bool {
	for _, h := range w.Record.Holds {
		if _, begins := w.stamp(h.ID); !begins {
			return true
		}
	}
	return false
}

// put adds the write itself. Where another transaction has the row, the statement waits, and
// then compares, computes and looks at the clock.
func (w *write) put(s *statement) {
	if w.base == 0 {
		w.insert(s)
		return
	}
	s.add("UPDATE lockgw_names SET version = ?, record = ?, busy = ?, used = LAST_INSERT_ID("+clock+"), ends = ", w.next, w.text, w.Record.InUse())
	w.ends(s)
	s.add(" WHERE name = ? AND version = ? AND "+writes, []byte(w.raw), w.base)
	if w.run.ID != "" {
		s.add(trustedSQL, []byte(w.run.ID), w.far, []byte(w.node), w.far)
	}
	for _, id := range w.Effects.Ended {
		tag := tagOf(id)
		s.add(fmt.Sprintf(" AND (LOCATE('%s', ends) = 0 OR CAST(SUBSTRING(ends, LOCATE('%s', ends) + %d, %d) AS SIGNED) <= %s)", tag, tag, toEnd, digits, clock))
	}
}

// ends adds the expression of what stands beside the record.
func (w *write) ends(s *statement) {
	if len(w.Record.Holds) == 0 {
		s.add("''")
		return
	}
	s.add("CONCAT(")
	for i, h := range w.Record.Holds {
		if i > 0 {
			s.add(", ")
		}
		tag := tagOf(h.ID)
		s.add("'" + tag + firmness(h) + "', ")
		if ttl, begins := w.stamp(h.ID); begins {
			s.add(fmt.Sprintf("LPAD(%s + %d, %d, '0')", clock, ttl, digits))
		} else {
			s.add(fmt.Sprintf("IF(LOCATE('%s', ends) = 0, REPEAT('0', %d), SUBSTRING(ends, LOCATE('%s', ends) + %d, %d))", tag, digits, tag, toEnd, digits))
		}
	}
	s.add(")")
}

// insert adds the write of a new row, whose fences count from the clock. LIMIT has the server
// look at that once. A row that was there when the statement began is in its way, although a sweep
// may delete it meanwhile: the mark was read before that sweep had raised it.
func (w *write) insert(s *statement) {
	before, after, _ := strings.Cut(w.text, `"base":0`)
	s.add("INSERT INTO lockgw_names (name, version, record, busy, used, ends) SELECT ?, ?, CONCAT(?, o.base, ?), ?, "+clock+", ",
		[]byte(w.raw), w.next, before+`"base":`, after, w.Record.InUse())
	if len(w.Record.Holds) == 0 {
		s.add("''")
	} else {
		s.add("CONCAT(''")
		for _, h := range w.Record.Holds {
			ttl, begins := w.stamp(h.ID)
			end := fmt.Sprintf("%s + %d", clock, ttl)
			if !begins {
				end = "0"
			}
			s.add(fmt.Sprintf(", ':', LPAD(%d + o.base, %d, '0'), '%s', LPAD(%s, %d, '0')", h.ID, digits, firmness(h), end, digits))
		}
		s.add(")")
	}
	s.add(" FROM (SELECT IF(?, 0, GREATEST("+clock+", ?, s.mark)) AS base FROM lockgw_state AS s WHERE "+writes+
		" AND NOT EXISTS (SELECT 1 FROM lockgw_names AS was WHERE was.name = ?)", w.Absolute, int64(w.Floor), []byte(w.raw))
	if w.run.ID != "" {
		s.add(" AND s.run = ? AND s.until <= "+clock+notBackSQL, []byte(w.run.ID), w.far, []byte(w.node), w.far)
	}
	s.add(" LIMIT 1) AS o ON DUPLICATE KEY UPDATE busy = lockgw_names.busy")
}

// answer is what is told about a name.
type answer struct {
	written bool
	version int64 // 0: there is no record
	record  string
	ends    string
	clock   int64
	unheard []string // nodes that do not hear the message which they have
	same    bool     // the connection leads where it led
	run     string   // of the server, which is trusted
	strange bool     // it was not asked: it is another server than the one that is trusted
}

func readAnswer(got sqltable.Rows) (answer, error) {
	if len(got) == 0 { // there is one for the one row of lockgw_state
		return answer{}, fmt.Errorf("%w: %w", backend.ErrUnavailable, sqltable.ErrNoState)
	}
	if len(got) != 1 {
		return answer{}, fmt.Errorf("%w: the server has told %d rows, and not one", backend.ErrUnavailable, len(got))
	}
	r := sqltable.NewReader(got[0])
	written := r.Is()
	a := readThere(r)
	a.written = written
	return a, r.Err
}

// readThere reads the columns of what is there.
func readThere(r *sqltable.Reader) (a answer) {
	a.version, a.record, a.ends, a.clock, a.same, a.run = r.Number(), r.Text(), r.Text(), r.Number(), readLeads(r), r.Text()
	return a
}

// readLeads reads whether the connection leads where it led. That the server has become read-only is
// an error of r.
func readLeads(r *sqltable.Reader) bool {
	readOnly := r.Text()
	if readOnly != "" && readOnly != "0" && readOnly != "OFF" && r.Err == nil {
		r.Err = errReadOnly
	}
	return readOnly != ""
}

// readReply is that of sqltable.Database.
func readReply(raw string, r *sqltable.Reader) (ledger.Reply, error) {
	a := readThere(r)
	if r.Err != nil {
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
	if n := len(r.Record.Holds); len(a.ends) != n*eachHold {
		return ledger.Reply{}, sqltable.WrongEnds(raw, n, len(a.ends)/eachHold)
	}
	putEnds(&r.Record, a.ends, a.clock)
	return r, nil
}

// reply is what is there once w was carried out.
func (w *write) reply(a answer) (ledger.Reply, error) {
	if a.version == w.next {
		r, err := a.reply(w.raw)
		r.Written, r.Unheard = true, a.unheard
		return r, err
	}
	// There was no need to read: all that is held begins.
	r := ledger.Reply{Version: sqltable.Version(w.next), Record: w.Record.Clone(), Clock: a.clock, Written: true}
	for i := range r.Record.Holds {
		ttl, _ := w.stamp(r.Record.Holds[i].ID)
		r.Record.Holds[i].End = sqltable.Duration(ttl)
	}
	return r, nil
}
