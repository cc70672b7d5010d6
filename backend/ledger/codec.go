package ledger

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lockgw/lockgw/backend"
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

// Encode is how a store keeps r. The ends are not in it.
func Encode(r Record) ([]byte, error) {
	for i := 0; i < len(r.Holds); i++ {
		if r.Holds[i].ID == 0 { // a holder outside lockgw stands elsewhere
			r = r.Clone()
			r.Holds = append(r.Holds[:i], r.Holds[i+1:]...)
			i--
		}
	}
	r.Size = max(r.Size, 0)
	return json.Marshal(encoded{Format: format, Record: r})
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
	if e.Base != 0 {
		e.Rebase(e.Base)
	}
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
