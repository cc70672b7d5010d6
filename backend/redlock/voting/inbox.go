package voting

import (
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
)

// inbox takes the messages to a node, of which each server brings a copy.
type inbox struct {
	tell func(ledger.Addressed)

	mu     sync.Mutex // guards the fields below
	closed bool
	copies map[subject]*copies
	deaf   [maxServers]bool // by which server no messages arrive
}

// subject tells messages apart.
type subject struct {
	name    string
	message ledger.Message
	version ledger.Version
}

// copies of one message.
type copies struct {
	from [maxServers]bool
	rows []*row
	told bool
	more bool // came after it was told, and say perhaps what was not so then
}

// window is how long copies of one message are taken for one message.
const window = 50 * time.Millisecond

// Listen implements ledger.Table. A message that a write has sent is passed on when it has
// come from a majority: then the record that it brings is chosen. If it does not for a
// while, it is passed on without.
func (t *Table) Listen(f func(ledger.Addressed)) {
	t.inbox.tell, t.inbox.copies = f, map[subject]*copies{}
	for i, s := range t.tables {
		s.Listen(func(m ledger.Addressed) { t.heard(i, m) })
	}
}

func (t *Table) heard(server int, m ledger.Addressed) {
	switch m.Kind {
	case ledger.Deaf:
		if t.deafens(server) {
			t.inbox.tell(m)
		}
		return
	case ledger.Resync:
		t.inbox.hears(server)
		t.inbox.tell(m)
		return
	}
	var r *row
	if m.Reply != nil {
		r, _ = readRow(m.Name, server, *m.Reply, t.clock())
	}
	m.Reply = nil
	of := subject{name: m.Name, message: m.Message}
	if r != nil {
		of.version = r.version()
	}
	if t.take(server, of, r, &m) {
		t.inbox.tell(m)
	}
}

// take counts a copy, and says whether the message is to be told now.
func (t *Table) take(server int, of subject, r *row, m *ledger.Addressed) bool {
	in := &t.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	c := in.copies[of]
	if c == nil || c.from[server] { // the same from the same server is another message
		c = &copies{}
		in.copies[of] = c
		time.AfterFunc(window, func() { t.late(of, c) })
	}
	c.from[server] = true
	if c.told {
		c.more = c.more || r == nil && of.message.Text == "" // a text says the same each time
		return false
	}
	if c.told = r == nil; c.told {
		return true
	}
	c.rows = append(c.rows, r)
	if v, ok := common(c.rows, t.quorum); ok {
		x := read(c.rows, v, len(t.tables), t.clock())
		reply := x.reply()
		m.Reply, c.told = &reply, true
	}
	return c.told
}

// late tells of a message that has not come from a majority in time; and again of one
// without a record, of which more copies have come: a program outside lockgw gives a name
// back on one server after the other.
func (t *Table) late(of subject, c *copies) {
	in := &t.inbox
	in.mu.Lock()
	if in.copies[of] == c {
		delete(in.copies, of)
	}
	tells := (!c.told || c.more) && !in.closed
	c.told = true
	in.mu.Unlock()
	if tells {
		in.tell(ledger.Addressed{Name: of.name, Message: of.message})
	}
}

func (in *inbox) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
}

// deafens: no messages arrive by this server, so that those of a majority may reach nobody.
func (t *Table) deafens(server int) bool {
	in := &t.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	in.deaf[server] = true
	hear := len(t.tables)
	for _, deaf := range in.deaf {
		if deaf {
			hear--
		}
	}
	return hear < t.quorum
}

func (in *inbox) hears(server int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.deaf[server] = false
}
