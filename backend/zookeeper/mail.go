package zookeeper

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
)

// letter is what is written to the znode of a node: messages. A node that reads it sees the
// last one alone. So each has what its sender has written there shortly before, too; and the
// version of the znode tells how many were written, by others as well. Who finds that one is
// missing looks at everything again.
type letter struct {
	node  string
	value string
	// notes are those of this letter alone.
	notes []note
	serial
}

// serial numbers the letters of a process.
type serial struct {
	From string `json:"from"`
	N    int64  `json:"n"`
}

type content struct {
	serial
	Notes []note `json:"notes"`
	// Row is the record that was written in the same step, about which the letter is. It stands
	// at Version, in a znode made by the zxid Born, or by the same one as the letter: 0; and
	// Bucket is the version that its parent had.
	Row     string `json:"row,omitempty"`
	Born    int64  `json:"born,omitempty"`
	Version int32  `json:"version,omitempty"`
	Bucket  int32  `json:"bucket,omitempty"`
}

// String is what is written of it.
func (x content) String() string {
	value, _ := json.Marshal(x) // it never fails
	return string(value)
}

type note struct {
	N int64 `json:"n"` // of the letter
	quorum.Note
}

// posted is what this process has written to others.
type posted struct {
	me string

	mu     sync.Mutex // guards the fields below
	n      int64
	recent map[string][]note // by node, oldest first
}

const (
	mostRecent = 16 // notes that a letter has of those before it
	mostNodes  = 1000
)

// next begins a letter.
func (p *posted) next(node string) (serial, []note) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	return serial{p.me, p.n}, slices.Clone(p.recent[node])
}

// done: l was written for certain.
func (p *posted) done(l letter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := append(p.recent[l.node], l.notes...)
	if extra := len(all) - mostRecent; extra > 0 {
		// Of a letter all or nothing: one that is there in part would pass for whole.
		for extra < len(all) && all[extra].N == all[extra-1].N {
			extra++
		}
		all = slices.Clone(all[extra:])
	}
	quorum.Put(&p.recent, mostNodes, l.node, all)
}

// letters are ms by node. w, unless it is nil, is the write that they go with.
func (s *session) letters(ms []ledger.Addressed, w *write) (out []letter) {
	for _, to := range quorum.Letters(ms) {
		l := letter{node: to.Node}
		var before []note
		l.serial, before = s.t.posted.next(to.Node)
		for _, n := range to.Notes {
			l.notes = append(l.notes, note{l.N, n})
		}
		x := content{serial: l.serial, Notes: append(before, l.notes...)}
		if w != nil {
			x.Row, x.Born, x.Version, x.Bucket = w.row.Text(), w.base.born, w.next(), w.in.version
		}
		l.value = x.String()
		out = append(out, l)
	}
	return out
}

// short is l without what can be read elsewhere.
func (l letter) short() letter {
	l.value = content{serial: l.serial, Notes: l.notes}.String()
	return l
}

// Send implements ledger.Table.
func (t *Table) Send(ctx context.Context, ms []ledger.Addressed) error {
	if err := ledger.Texts(ms); err != nil {
		return err
	}
	s, err := t.listening.Wait(ctx)
	if err != nil {
		return err
	}
	ls := s.letters(ms, nil)
	return backend.Each(len(ls), func(i int) error {
		_, err := s.write(ctx, t.paths.mail(ls[i].node), ls[i].value, -1)
		if err == nil {
			t.posted.done(ls[i])
		}
		if isGone(err) {
			return nil // nobody listens
		}
		return settled(err)
	})
}

// inbox is what this node has heard.
type inbox struct {
	version int32 // of its znode
	heard   map[string][]int64
}

// mostHeard bounds how many letters of one sender are remembered, and how many senders.
const mostHeard = 64

// opened is a letter that was read.
type opened struct {
	ms     []ledger.Addressed
	missed bool // letters were written before it that are not in it
}

// open reads what is at the znode of this node. A record that cannot be read is left out.
func (in *inbox) open(s *session, value []byte, st *zk.Stat) (o opened) {
	written := int(st.Version - in.version)
	in.version = st.Version
	var x content
	if written == 0 || json.Unmarshal(value, &x) != nil || x.From == "" {
		o.missed = written != 0
		return o
	}
	heard := in.heard[x.From]
	fresh := map[int64]bool{x.N: true}
	here := 1 // of fresh that were written to this znode for certain, and not to that of an earlier session
	for _, n := range x.Notes {
		if fresh[n.N] || slices.Contains(heard, n.N) {
			continue
		}
		fresh[n.N] = true
		if len(heard) > 0 && n.N > slices.Min(heard) {
			here++
		}
	}
	o.missed = here < written
	for _, n := range x.Notes {
		m, ok := n.Message(s.t.Node())
		if !ok || !fresh[n.N] {
			continue
		}
		if n.N == x.N {
			m.Reply = s.enclosed(n.Name, x, st)
		}
		o.ms = append(o.ms, m)
	}
	for n := range fresh {
		heard = append(heard, n)
	}
	quorum.Put(&in.heard, mostNodes, x.From, heard[max(0, len(heard)-mostHeard):])
	return o
}

// enclosed is the record that came with a letter; nil: none.
func (s *session) enclosed(name string, x content, st *zk.Stat) *ledger.Reply {
	at := place{x.Born, x.Version}
	if at.born == 0 {
		at.born = st.Mzxid
	}
	value, err := quorum.Decode(x.Row)
	if x.Row == "" || err != nil || value.Kept != "" {
		return nil
	}
	s.buckets.saw(name, at.born, x.Bucket)
	is := row{Row: value, place: at}
	r := is.Reply(is.version())
	s.t.remains.fill(name, is.Ends, &r.Record)
	return &r
}
