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
func filled(t *testing.T, burn func(context.Context, map[uint64]bool) error) *mailbox {
	box := newMailbox(t.Context(), burn)
	for id := range uint64(fetchedMost) {
		box.ids[id] = true
	}
	return box
}

// A request to delete mail that has no answer ends, and another one follows by itself.
func TestMailboxTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		box := filled(t, func(ctx context.Context, ids map[uint64]bool) error {
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
		if err := box.clean(ctx); err != nil || calls != 2 || len(box.ids) != 0 {
			t.Errorf("after %d requests %d are left: %v", calls, len(box.ids), err)
		}
	})
}

// Nobody waits for mail to be deleted while there is room for more, and what comes meanwhile goes with
// the next request.
func TestMailboxHasRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var deleted []int
		box := newMailbox(t.Context(), func(_ context.Context, ids map[uint64]bool) error {
			deleted = append(deleted, len(ids))
			return nil
		})
		began := time.Now()
		for id := range uint64(3) {
			box.ids[id] = true
			if err := box.clean(t.Context()); err != nil || !time.Now().Equal(began) {
				t.Errorf("it took %v, %v", time.Since(began), err)
			}
		}
		for range 2 {
			time.Sleep(time.Second)
			if err := box.clean(t.Context()); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Second)
		if err := box.clean(t.Context()); err != nil || len(box.ids) != 0 || len(deleted) != 2 || deleted[0] != 1 || deleted[1] != 2 {
			t.Errorf("requests have deleted %v, and %d are left: %v", deleted, len(box.ids), err)
		}
	})
}

// Mail that cannot be deleted is no reason to hear nothing, without a word, for ever.
func TestMailboxStaysFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := filled(t, func(context.Context, map[uint64]bool) error { return errors.New("no") })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := box.clean(ctx); err == nil || !strings.Contains(err.Error(), "could not be deleted") {
			t.Errorf("err = %v", err)
		}
	})
}
