// Package memory is a store inside the process: the gateway's default, for the locks of one
// machine, and the plainest statement of what a store has to do.
package memory

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Rows keeps records in the process, and the plainest Table there can be: each request
// is one method of ledger.Row under a mutex. Several nodes may share one, in tests.
type Rows struct {
	// Clock is by what leases end; boottime.Now. It is set before the first use.
	Clock func() time.Duration
	// Keep has records stay that nobody uses, as other stores have them outlive every
	// request that is under way. For tests in which requests are late.
	Keep bool

	nonce string // of the versions: no other process has used them

	mu     sync.Mutex // guards the fields below
	names  map[string]*ledger.Row
	tables map[string]*Table // by node; those that listen
	writes uint64
	mark   backend.Fence // no fence of a name that is not here is above it
	until  time.Duration // nobody is granted anything new before
}

// NewRows makes an empty store.
func NewRows() *Rows {
	return &Rows{Clock: boottime.Now, nonce: rand.Text(), names: map[string]*ledger.Row{}, tables: map[string]*Table{}}
}

// Pause has the store grant nothing new for so long: somebody may hold what it does not
// know of, because the process that granted it has ended and nothing was kept.
func (r *Rows) Pause(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.until = r.Clock() + d
}

// paused is why nothing new is granted, nil if the store is not paused.
func (r *Rows) paused(now time.Duration) error {
	left := r.until - now
	if r.until == 0 || left <= 0 {
		return nil
	}
	return &backend.Later{After: left, Err: fmt.Errorf("%w: the journal of the process before this one was lost, and with it who holds what; "+
		"by %s all that was held then is released or has run out, and locks are granted again", backend.ErrRefused, time.Now().Add(left).UTC().Format(time.RFC3339))}
}

func (r *Rows) version() ledger.Version {
	r.writes++
	return ledger.Version(r.nonce + "." + strconv.FormatUint(r.writes, 36))
}

// Raise has every fence of a new record be above mark: the highest that the process before
// this one has given. The clock of the store, from which fences are counted, is not below
// it either, so that a node that has taken up an earlier hold goes on above it, too.
func (r *Rows) Raise(mark backend.Fence) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mark = max(r.mark, mark)
}

// clock is in microseconds since 1970, and not below any fence of a name that is forgotten.
func (r *Rows) clock() backend.Fence { return max(backend.Fence(time.Now().UnixMicro()), r.mark) }

func (r *Rows) row(name string) *ledger.Row {
	row := r.names[name]
	if row == nil {
		row = &ledger.Row{}
		r.names[name] = row
	}
	return row
}

// reply tells what there is of a name. A row that nobody uses is dropped: no request is
// under way that could take it for the one before, for each is carried out when it is
// made. One that has a vote stays, for others may count on it.
func (r *Rows) reply(name string, now time.Duration) ledger.Reply {
	row := r.names[name]
	if row != nil && !r.Keep && !row.Record.InUse() && row.Record.Vote == "" {
		r.mark = max(r.mark, row.Record.Top)
		delete(r.names, name)
		row = nil
	}
	if row == nil {
		row = &ledger.Row{}
	}
	p := row.Reply(now)
	p.Clock = int64(r.clock())
	return p
}

// send passes on the messages of a write, and returns the nodes that do not listen.
func (r *Rows) send(name string, ms []ledger.Message, with *ledger.Reply) (unheard []string) {
	for _, m := range ms {
		copied := *with
		copied.Record = with.Record.Clone()
		if !r.deliver(ledger.Addressed{Name: name, Message: m, Reply: &copied}) {
			unheard = append(unheard, m.Node)
		}
	}
	return unheard
}

func (r *Rows) deliver(m ledger.Addressed) bool {
	to := r.tables[m.Node]
	return to != nil && to.inbox.put(m)
}
