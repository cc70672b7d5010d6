package mysql

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// filled has as much mail as a mailbox takes.
func filled() *mailbox {
	box := newMailbox()
	for id := range uint64(fetchedMost) {
		box.add(id)
	}
	return box
}

// A request to delete mail that has no answer ends, and another one follows by itself.
func TestMailboxTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box, calls := filled(), 0
		go box.clean(t.Context(), func(ctx context.Context, ids map[uint64]bool) error {
			if calls++; calls == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			if len(ids) != fetchedMost {
				t.Errorf("%d are deleted, want %d", len(ids), fetchedMost)
			}
			return nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), cleanMost+time.Second)
		defer cancel()
		if err := box.roomy(ctx); err != nil || calls != 2 || len(box.fetched()) != 0 {
			t.Errorf("after %d requests %d are left: %v", calls, len(box.fetched()), err)
		}
	})
}

// Mail that cannot be deleted is no reason to hear nothing, without a word, for ever.
func TestMailboxStaysFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := filled()
		go box.clean(t.Context(), func(context.Context, map[uint64]bool) error { return errors.New("no") })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := box.roomy(ctx); err == nil || !strings.Contains(err.Error(), "could not be deleted") {
			t.Errorf("err = %v", err)
		}
	})
}
