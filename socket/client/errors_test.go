package client

import (
	"errors"
	"fmt"
	"testing"
)

// A reply matches the sentinel of its word and no other.
func TestSentinels(t *testing.T) {
	for word, want := range sentinels {
		err := fmt.Errorf("wrapped: %w", &Error{Word: word, Text: "x"})
		for other, sentinel := range sentinels {
			if got := errors.Is(err, sentinel); got != (other == word) {
				t.Errorf("errors.Is(%v, %v) = %v, want it of %v alone", err, sentinel, got, want)
			}
		}
		for _, never := range []error{ErrWaitTooLong, ErrClosed, ErrNotAcquired} {
			if errors.Is(err, never) {
				t.Errorf("%v is %v", err, never)
			}
		}
	}
	if err := (&Error{Word: "ERR", Text: "x"}); errors.Is(err, nil) || errors.Is(err, ErrInvalid) {
		t.Errorf("%v is something that it is not", err)
	}
}

// What the gateway itself refuses.
func TestRefusals(t *testing.T) {
	g := start(t)
	a, b := g.client(Options{}), g.client(Options{})
	if _, err := a.Lock(t.Context(), "a", LockOptions{}); err != nil {
		t.Fatal(err)
	}
	_, tooLong := b.Lock(t.Context(), "a", LockOptions{Wait: 1e18})
	_, badTTL := b.Lock(t.Context(), "a", LockOptions{TTL: 1})
	_, notHeld := b.Unlock(t.Context(), "a", UnlockOptions{})
	_, otherWay := b.Lock(t.Context(), "a", LockOptions{Shared: true})
	_, noProcess := b.BindSession(t.Context(), 1<<30)
	for _, tt := range []struct{ err, want error }{
		{tooLong, ErrWaitTooLong}, {tooLong, ErrInvalid}, {badTTL, ErrInvalid}, {notHeld, ErrNotHeld}, {noProcess, ErrInvalid}, {otherWay, ErrNotAcquired},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%v, want %v", tt.err, tt.want)
		}
	}
	if errors.Is(badTTL, ErrWaitTooLong) {
		t.Errorf("%v is ErrWaitTooLong", badTTL)
	}
}
