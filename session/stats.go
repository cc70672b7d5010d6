package session

import (
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session/contender"
	"github.com/lockgw/lockgw/session/engine"
)

// Stats of a Manager.
type Stats struct {
	Sessions, Holds, Waiters int
	Answers                  int // that are remembered of requests with a key
}

// Stats counts what there is now.
func (m *Manager) Stats() Stats {
	m.mu.Lock()
	st := Stats{Sessions: len(m.sessions), Answers: m.answers.Count()}
	m.mu.Unlock()
	m.engine.Each(func(n *engine.Name) {
		n.See(func(c *contender.Contender, _ time.Duration) {
			st.Waiters += len(c.Waiting())
			for _, w := range c.In() {
				if w.Holds() {
					st.Holds++
				}
			}
		})
	})
	return st
}

// JournalErr is why what is held would not outlive this process at present; nil: it
// would, or there is no journal.
func (m *Manager) JournalErr() error { return m.cfg.Journal.Err() }

// Config is the configuration in force, defaults filled in.
func (m *Manager) Config() Config { return m.cfg }

// Info is what the store can promise.
func (m *Manager) Info() backend.Info { return m.store.Info() }
