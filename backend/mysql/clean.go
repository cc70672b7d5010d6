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

// mailbox is the mail that was fetched, over one connection for messages, and not deleted yet. Who
// fetches it is alone with it.
type mailbox struct {
	ids    map[uint64]bool
	going  map[uint64]bool // those that are being deleted; nil: none are
	burn   func(map[uint64]bool) error
	burned chan error // tells what came of that
	work   sync.WaitGroup
}

// newMailbox has burn delete mail, for as long as ctx lasts.
func newMailbox(ctx context.Context, burn func(context.Context, map[uint64]bool) error) *mailbox {
	return &mailbox{ids: map[uint64]bool{}, burned: make(chan error, 1), burn: func(ids map[uint64]bool) error {
		backend.Wait(ctx, cleanAfter)
		burning, cancel := context.WithTimeout(ctx, cleanMost)
		defer cancel()
		err := burn(burning, ids)
		if err != nil {
			backend.Wait(ctx, 10*cleanAfter)
		}
		return err
	}}
}

func (m *mailbox) full() bool { return len(m.ids) >= fetchedMost }

// clean has what was fetched deleted beside everything else, and waits until there is room for more.
// What could not be deleted is tried again together with what came since, when the next mail is
// fetched or the next sleep is over. An error is that there is no room in time.
func (m *mailbox) clean(ctx context.Context) error {
	for {
		select {
		case err := <-m.burned:
			m.ended(err)
		default:
		}
		if m.going == nil && len(m.ids) > 0 {
			going := maps.Clone(m.ids)
			m.going = going
			m.work.Go(func() { m.burned <- m.burn(going) })
		}
		if !m.full() {
			return nil
		}
		select {
		case err := <-m.burned:
			m.ended(err)
		case <-ctx.Done():
			return fmt.Errorf("%d messages were heard that could not be deleted: %w", fetchedMost, ctx.Err())
		}
	}
}

// ended: what was being deleted is, or err is why not.
func (m *mailbox) ended(err error) {
	if err == nil {
		maps.DeleteFunc(m.ids, func(id uint64, _ bool) bool { return m.going[id] })
	}
	m.going = nil
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
