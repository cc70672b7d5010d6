package voting

// names is of how many names is remembered what the servers have.
const names = 4096

// known is what the servers had of a name when they last answered.
type known struct {
	rows []*row // nil: not known
	mine ballot // of the last write, if it was one of this Table and the next may follow it
}

// acceptor of a name on server i, as it was last seen.
func (t *Table) acceptor(i int, name string) *acceptor {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := &acceptor{table: t.tables[i], name: name, server: i, clock: t.clock}
	if k := t.known[name]; k != nil {
		a.row = k.rows[i]
	}
	return a
}

func (t *Table) remember(name string, i int, r *row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.known[name]
	if k == nil {
		if len(t.known) >= names {
			for other := range t.known {
				delete(t.known, other)
				break
			}
		}
		k = &known{rows: make([]*row, len(t.tables))}
		t.known[name] = k
	}
	k.rows[i] = r
}

// wrote notes that a majority has accepted what this Table has written at b.
func (t *Table) wrote(name string, b ballot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.known[name]; k != nil {
		k.mine = b
	}
}

// promised is the highest ballot that servers are known to have promised.
func (t *Table) promised(name string) (n uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.known[name]; k != nil {
		for _, r := range k.rows {
			if r != nil {
				n = max(n, r.promised.n)
			}
		}
	}
	return n
}
