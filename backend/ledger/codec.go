package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/jsontext"
)

// format is the version of the encoding. A record in a later one is not touched.
const format = 1

// encoded is a record as a store keeps it: JSON, so that a person can read it with the
// store's own tools.
type encoded struct {
	Format int `json:"v"`
	// Base is to be added to all fences. The store puts its clock there when it makes a
	// record; the next write adds it up.
	Base backend.Fence `json:"base"`
	Record
}

// Encode is how a store keeps r: as encoding/json would write it. The ends are not in it,
// nor a holder outside lockgw, which stands elsewhere.
func Encode(r Record) []byte {
	if slices.ContainsFunc(r.Holds, isOutside) {
		r.Holds = slices.DeleteFunc(slices.Clone(r.Holds), isOutside)
	}
	b := append(make([]byte, 0, 512), `{"v":`...)
	b = strconv.AppendInt(b, format, 10)
	b = append(b, `,"base":0`...)
	b = jsontext.Number(b, `,"size":`, int64(max(r.Size, 0)))
	b = strconv.AppendUint(append(b, `,"top":`...), uint64(r.Top), 10)
	b = jsontext.Unsigned(b, `,"last":`, uint64(r.Last))
	b = jsontext.Unsigned(b, `,"broken":`, uint64(r.Broken))
	b = list(b, `,"holds":[`, r.Holds, func(b []byte, h *Hold) []byte { return h.encode(b) })
	b = list(b, `,"queue":[`, r.Queue, func(b []byte, e *Entry) []byte { return e.encode(b) })
	b = jsontext.Text(b, `,"vote":`, r.Vote)
	return append(b, '}')
}

func isOutside(h Hold) bool { return h.Foreign() }

// list appends key and all, as encode writes each, unless there are none.
func list[T any](b []byte, key string, all []T, encode func([]byte, *T) []byte) []byte {
	if len(all) == 0 {
		return b
	}
	b = append(b, key...)
	for i := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = encode(b, &all[i])
	}
	return append(b, ']')
}

func (h *Hold) encode(b []byte) []byte {
	b = jsontext.Quote(append(b, `{"node":`...), h.Node)
	b = jsontext.Number(b, `,"mode":`, int64(h.Mode))
	b = strconv.AppendInt(append(b, `,"count":`...), int64(h.Count), 10)
	b = jsontext.Flag(b, `,"offered":`, h.Offered)
	b = strconv.AppendUint(append(b, `,"id":`...), uint64(h.ID), 10)
	b = jsontext.Unsigned(b, `,"block":`, uint64(h.Block))
	b = jsontext.Flag(b, `,"retains":`, h.Retains)
	b = list(b, `,"breaks":[`, h.Breaks, func(b []byte, f *backend.Fence) []byte { return strconv.AppendUint(b, uint64(*f), 10) })
	b = list(b, `,"callers":[`, h.Callers, func(b []byte, c *Caller) []byte { return c.encode(b) })
	b = jsontext.Number(b, `,"at":`, h.At)
	return append(b, '}')
}

func (e *Entry) encode(b []byte) []byte {
	b = jsontext.Quote(append(b, `{"node":`...), e.Node)
	b = jsontext.Number(b, `,"mode":`, int64(e.Mode))
	b = strconv.AppendInt(append(b, `,"want":`...), int64(e.Want), 10)
	b = jsontext.Flag(b, `,"suspect":`, e.Suspect)
	b = jsontext.Flag(b, `,"deaf":`, e.Deaf)
	b = jsontext.Number(b, `,"since":`, e.Since)
	b = jsontext.Number(b, `,"then":`, e.Then)
	b = jsontext.Number(b, `,"waiters":`, int64(e.Waiters))
	b = jsontext.Number(b, `,"at":`, e.At)
	return append(b, '}')
}

func (c *Caller) encode(b []byte) []byte {
	b = jsontext.Quote(append(b, `{"owner":`...), string(c.Owner))
	b = strconv.AppendInt(append(b, `,"entries":`...), int64(c.Entries), 10)
	b = jsontext.Unsigned(b, `,"fence":`, uint64(c.Fence))
	b = jsontext.Number(b, `,"since":`, c.Since)
	b = jsontext.Text(b, `,"about":`, c.About)
	return append(b, '}')
}

// Decode reads what Encode made. The error says why it cannot be one.
func Decode(b []byte) (Record, error) {
	var e encoded
	if err := json.Unmarshal(b, &e); err != nil {
		return Record{}, fmt.Errorf("not a record of lockgw: %w", err)
	}
	switch {
	case e.Format == 0:
		return Record{}, errors.New("not a record of lockgw: it names no version")
	case e.Format > format:
		return Record{}, fmt.Errorf("the record has version %d; this lockgw reads version %d", e.Format, format)
	}
	e.Rebase(e.Base)
	if err := e.check(); err != nil {
		return Record{}, fmt.Errorf("a record that contradicts itself: %w", err)
	}
	return e.Record, nil
}

// maxFence is the largest number that every client reads exactly.
const maxFence = 1 << 53

// check refuses what Step never makes: who reads on would grant by it.
func (r *Record) check() error {
	firm, offered, queued := map[string]bool{}, map[string]bool{}, map[string]bool{}
	if r.Top > maxFence {
		return fmt.Errorf("fence %d is above 2^53", r.Top)
	}
	for _, h := range r.Holds {
		of := firm
		if h.Offered {
			of = offered
		}
		switch {
		case h.ID == 0 || h.ID > r.Top || h.Block > r.Top:
			return fmt.Errorf("hold %d of node %q is above the newest fence %d", h.ID, h.Node, r.Top)
		case h.Count < 1:
			return fmt.Errorf("hold %d of node %q is of %d", h.ID, h.Node, h.Count)
		case h.Node != "" && of[h.Node]:
			return fmt.Errorf("node %q holds twice", h.Node)
		}
		of[h.Node] = true
	}
	for _, e := range r.Queue {
		if e.Node == "" || e.Want < 1 || queued[e.Node] {
			return fmt.Errorf("node %q waits twice, or for nothing", e.Node)
		}
		queued[e.Node] = true
	}
	return nil
}
