package mysql

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
)

const (
	// fetchedMost is how much mail is named that was fetched and not deleted yet. Beyond that
	// a gateway waits until it is deleted.
	fetchedMost = 500
	// cleanAfter is how long mail may wait to be deleted together with other.
	cleanAfter = 20 * time.Millisecond
	// cleanMost is how long the server may take to delete it: over a connection that is dead
	// no answer ever comes.
	cleanMost = 2 * time.Second
)

// mailbox is the mail that was fetched, over one connection for messages, and not deleted yet.
type mailbox struct {
	more chan struct{} // mail was fetched
	less chan struct{} // mail was deleted

	mu  sync.Mutex // guards the field below
	ids map[uint64]bool
}

func newMailbox() *mailbox {
	one := func() chan struct{} { return make(chan struct{}, 1) }
	return &mailbox{more: one(), less: one(), ids: map[uint64]bool{}}
}

func (m *mailbox) add(id uint64) {
	m.mu.Lock()
	m.ids[id] = true
	m.mu.Unlock()
	backend.Signal(m.more)
}

func (m *mailbox) deleted(ids map[uint64]bool) {
	m.mu.Lock()
	maps.DeleteFunc(m.ids, func(id uint64, _ bool) bool { return ids[id] })
	m.mu.Unlock()
	backend.Signal(m.less)
}

func (m *mailbox) fetched() map[uint64]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.ids)
}

func (m *mailbox) full() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.ids) >= fetchedMost
}

// roomy waits until there is room for more. An error is that there is none in time.
func (m *mailbox) roomy(ctx context.Context) error {
	for m.full() {
		select {
		case <-m.less:
		case <-ctx.Done():
			return fmt.Errorf("%d messages were heard that could not be deleted: %w", fetchedMost, ctx.Err())
		}
	}
	return nil
}

// clean has what was fetched deleted, by burn, beside everything else, until ctx is over. What
// could not be deleted is tried again together with what comes next, or after a while.
func (m *mailbox) clean(ctx context.Context, burn func(context.Context, map[uint64]bool) error) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.more:
		}
		backend.Wait(ctx, cleanAfter)
		ids := m.fetched()
		burning, cancel := context.WithTimeout(ctx, cleanMost)
		err := burn(burning, ids)
		cancel()
		if err == nil {
			m.deleted(ids)
		} else if backend.Wait(ctx, 10*cleanAfter) {
			backend.Signal(m.more)
		}
	}
}

// burn deletes mail that was fetched.
func (t *Table) burn(ctx context.Context, ids map[uint64]bool) error {
	if len(ids) == 0 {
		return nil
	}
	if err := t.room(); err != nil {
		return err
	}
	return t.requests.do(ctx, "DELETE FROM lockgw_mail WHERE id IN ("+listOf(ids)+")")
}

// listOf is what NOT IN takes.
func listOf(ids map[uint64]bool) string {
	var b strings.Builder
	b.WriteByte('0')
	for id := range ids {
		fmt.Fprintf(&b, ", %d", id)
	}
	return b.String()
}
