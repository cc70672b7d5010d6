package sqltable

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Rows are what a statement tells, as text; nil is NULL.
type Rows [][][]byte

// Reader reads the columns of one row, and remembers the first that it could not read.
type Reader struct {
	Err error
	row [][]byte
	at  int
}

// NewReader reads row.
func NewReader(row [][]byte) *Reader { return &Reader{row: row} }

// ErrNoState is why a request has not found the one row of the table with the state.
var ErrNoState = errors.New("somebody has emptied the table with the state of lockgw: its row is made anew by the next request")

// One is the one row that the table with the state has.
func One(rows Rows, err error) (*Reader, error) {
	switch {
	case err != nil:
		return nil, err
	case len(rows) == 0:
		return nil, fmt.Errorf("%w: %w", backend.ErrRefused, ErrNoState)
	case len(rows) != 1:
		return nil, fmt.Errorf("%w: the table with the state has %d rows, and not one: somebody has changed it. Stop all gateways, drop the tables of lockgw, and start the gateways again", backend.ErrRefused, len(rows))
	}
	return NewReader(rows[0]), nil
}

func (r *Reader) next() []byte {
	if r.at >= len(r.row) {
		r.Fail("a column more", "")
		return nil
	}
	r.at++
	return r.row[r.at-1]
}

// Fail notes that the column which was read last has text in the place of what it should have.
func (r *Reader) Fail(what, text string) {
	if r.Err == nil {
		r.Err = fmt.Errorf("%w: the database has told %q in column %d, and not %s", backend.ErrUnavailable, text, r.at, what)
	}
}

// Text is "" of NULL.
func (r *Reader) Text() string { return string(r.next()) }

// Number is 0 of NULL.
func (r *Reader) Number() int64 { return read(r, parseInt) }

// Float is 0 of NULL.
func (r *Reader) Float() float64 { return read(r, parseFloat) }

// Is reads whether something is so; it is not of NULL.
func (r *Reader) Is() bool { return read(r, strconv.ParseBool) }

func parseInt(text string) (int64, error)     { return strconv.ParseInt(text, 10, 64) }
func parseFloat(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

func read[T any](r *Reader, parse func(string) (T, error)) T {
	text := r.next()
	if text == nil {
		return *new(T)
	}
	v, err := parse(string(text))
	if err != nil {
		r.Fail(fmt.Sprintf("a value of type %T", v), string(text))
	}
	return v
}

// NewVersion has never been used before: it is one of 2^63.
func NewVersion() int64 { return rand.Int64N(1<<63-1) + 1 }

// Version is that of a row; 0: there is none.
func Version(v int64) ledger.Version {
	if v == 0 {
		return ""
	}
	return ledger.Version(strconv.FormatInt(v, 10))
}

// ParseVersion reads what Version made.
func ParseVersion(v ledger.Version) (int64, error) {
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %q is no version of a record", backend.ErrInvalid, v)
	}
	return n, nil
}

// NewReply is what a row tells about a name: its version, 0 if there is none, its record, and the
// time. The caller sets the ends of holds.
func NewReply(raw string, version int64, record string, clock int64) (ledger.Reply, error) {
	r := ledger.Reply{Version: Version(version), Clock: clock}
	if version == 0 {
		return r, nil
	}
	var err error
	if r.Record, err = ledger.Decode([]byte(record)); err != nil {
		return ledger.Reply{}, fmt.Errorf("%w: the row of %s: %w", backend.ErrRefused, raw, err)
	}
	return r, nil
}

// WrongEnds is the error of a row that does not have an end for each hold.
func WrongEnds(raw string, holds, ends int) error {
	return fmt.Errorf("%w: the row of %s has %d holds and %d ends: it was changed by hand; delete it when nobody holds the lock", backend.ErrRefused, raw, holds, ends)
}

// Duration of so many microseconds.
func Duration(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
