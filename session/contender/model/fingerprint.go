package model

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// key is the state in a normal form: times count from now, fences by their rank, and of
// versions only whether they are the present one.
func (w *world) key(b []byte) []byte {
	p := &printer{w: w, b: b}
	p.Version(w.row.Version)
	p.Record(&w.row.Record)
	p.Fence(w.lastX)
	p.Fence(w.lastAny)
	f := w.faults
	p.Int(f.Kill, f.Stop, f.Message, f.Request, f.Withdraw, f.Vanish, f.Slow, f.Prolong, f.Loosen, f.Hurry, f.Break, f.Delete, len(w.gone), bit(w.bad != ""))
	for _, id := range w.gone {
		p.Fence(id)
	}
	for i := range w.nodes {
		n := &w.nodes[i]
		p.Int(int(n.process), bit(n.deaf), bit(n.asks))
		for k, m := range n.messages {
			p.Int(bit(m))
			if m && w.in.Carry {
				p.Version(n.carried[k].Version)
				p.Record(&n.carried[k].Record)
			}
		}
		if n.c != nil {
			n.c.Fingerprint(p)
		}
		p.Time(n.timer)
		for k := range n.clients {
			c := &n.clients[k]
			p.Int(int(c.state), c.ops, bit(c.granted), bit(c.prolongs), bit(c.broken))
			p.arrival(c)
			if c.state == holds || c.state == dead {
				p.Time(c.deadline)
			}
		}
		p.Int(bit(n.journal.intent), len(n.journal.in))
		if len(n.journal.in) > 0 {
			p.Fence(n.journal.id)
			for _, l := range n.journal.in {
				p.Int(l.client)
				p.Time(l.deadline)
				p.Fence(l.fence)
				p.Int(bit(l.lease.Fixed), int(l.lease.TTL))
				p.Time(l.lease.Until)
			}
		}
		if n.request != nil {
			p.request(n.request)
		}
		p.renewal(n.renewal)
		p.renewal(n.prolongs)
		for j := range w.nodes {
			p.Int(w.left[i][j])
		}
	}
	for k := range w.stray {
		p.request(&w.stray[k])
	}
	return p.done()
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// printer writes a state; fences are replaced by their rank at the end.
type printer struct {
	w      *world
	b      []byte
	fences []mark
	comes  []mark
}

type mark struct {
	at   int
	rank int64 // among its like
}

func (p *printer) Int(is ...int) {
	for _, i := range is {
		p.b = binary.AppendVarint(p.b, int64(i))
	}
}

func (p *printer) Text(s string) { p.b = append(append(p.b, s...), 0) }

func (p *printer) Time(t time.Duration) {
	left := t - p.w.now
	if left > 0 { // instants make no difference
		left = (left + third - 1) / third
	}
	p.Int(int(max(left, -1)), bit(t != 0))
}

func (p *printer) Version(v ledger.Version) {
	switch v {
	case p.w.row.Version:
		p.Int(1)
	case "":
		p.Int(2)
	default:
		p.Int(0)
	}
}

func (p *printer) Fence(f backend.Fence) {
	p.fences = append(p.fences, mark{len(p.b), int64(f)})
	p.b = append(p.b, 0, 0)
}

// Came prints when a caller came, 0 for none.
func (p *printer) Came(t int64) {
	if p.w.in.Strict {
		p.comes = append(p.comes, mark{len(p.b), t})
		p.b = append(p.b, 0, 0)
	}
}

func (p *printer) Record(r *ledger.Record) {
	p.Int(r.Size, len(r.Holds), len(r.Queue))
	p.Fence(r.Top)
	for i := range r.Holds {
		h := &r.Holds[i]
		p.Text(h.Node)
		p.Int(int(h.Mode), h.Count, bit(h.Offered))
		p.Fence(h.ID)
		p.Fence(h.Block)
		p.Int(len(h.Breaks))
		for _, f := range h.Breaks {
			p.Fence(f)
		}
		p.Time(h.End)
	}
	for _, e := range r.Queue {
		p.Text(e.Node)
		p.Int(int(e.Mode), e.Want, bit(e.Suspect), bit(e.Deaf))
		p.Came(e.Since)
		p.Came(e.Then)
	}
}

func (p *printer) renewal(r *renewal) {
	if r == nil {
		p.Int(8)
		return
	}
	p.Int(7, bit(r.answered), bit(r.err != nil), r.client, int(r.r.TTL))
	p.Fence(r.r.ID)
	p.Time(r.sentAt + 2*lease)
}

func (p *printer) request(q *request) {
	p.Int(9, q.node, bit(q.answered))
	p.Time(q.r.SentAt + 2*lease)
	if q.answered {
		p.Version(q.reply.Version)
		p.Int(bit(q.reply.Written), len(q.reply.Unheard))
		p.Record(&q.reply.Record)
		return
	}
	switch s := q.r.Swap; {
	case s != nil:
		p.Version(s.Base)
		if s.Base == p.w.row.Version { // any other does nothing
			p.Record(&s.Record)
			p.Int(len(s.Effects.Ended), len(s.Effects.Stamps), len(s.Effects.Messages))
		}
	case q.r.Join != nil:
		p.Int(int(q.r.Join.Mode), q.r.Join.Want)
	}
}

func (p *printer) arrival(c *client) {
	if !p.w.in.Strict || c.state != waits {
		return
	}
	p.Came(c.asked.Microseconds())
	p.Int(bit(c.known))
	for _, seen := range c.seen {
		p.Int(bit(seen))
	}
}

// rank writes in place of each what place it has among them.
func (p *printer) rank(marks []mark) {
	sorted := make([]int64, 0, len(marks))
	for _, m := range marks {
		sorted = append(sorted, m.rank)
	}
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	for _, m := range marks {
		rank, _ := slices.BinarySearch(sorted, m.rank)
		binary.LittleEndian.PutUint16(p.b[m.at:], uint16(rank))
	}
}

func (p *printer) done() []byte {
	none := len(p.b)
	p.b = append(p.b, 0, 0)
	p.rank(p.fences)
	p.rank(append(p.comes, mark{none, 0}))
	return p.b
}
