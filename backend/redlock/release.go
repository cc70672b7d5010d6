package redlock

import (
	"context"
	"fmt"

	"github.com/lockgw/lockgw/backend"
)

// Confirm implements backend.Backend. There are no provisional holds.
func (b *Backend) Confirm(context.Context, backend.Request) (backend.Answer, error) {
	return backend.Answer{}, backend.ErrNotHeld
}

// Promote implements backend.Backend. A release tells those who wait itself, and
// who is granted a name asks for it.
func (b *Backend) Promote(context.Context, string) (backend.Answer, error) {
	return backend.Answer{}, nil
}

// Release implements backend.Backend.
func (b *Backend) Release(ctx context.Context, r backend.Request) (backend.Answer, error) {
	o := order{Request: r}
	b.drop(r)
	if r.Queue {
		b.await(r)
		o.Attempt = 0 // this very request may have been granted: see the repeat
	} else {
		b.forget(r)
	}
	done := b.ask(ctx, releaseScript, b.message(o), settled("done", "queued"))
	if err := done.verdict("done", "queued"); err != nil {
		return backend.Answer{}, err
	}
	switch {
	case !r.Queue:
		return backend.Answer{}, nil
	case done.count("queued") > 0:
		return b.step(ctx, r)
	}
	return b.Acquire(ctx, r)
}

// step: others wait, and were told. They get some time to take the name, unless the
// request is a repeat and the sender has it again.
func (b *Backend) step(ctx context.Context, r backend.Request) (backend.Answer, error) {
	if r.Repeat {
		return b.Acquire(ctx, r)
	}
	return backend.Answer{Queued: true, Wait: calm}, nil
}

// Cancel implements backend.Backend.
func (b *Backend) Cancel(ctx context.Context, r backend.Request) error {
	b.forget(r)
	b.drop(r)
	r.Delay = 0
	return b.ask(ctx, cancelScript, b.message(order{Request: r}), settled("done")).verdict("done")
}

// Break implements backend.Backend.
func (b *Backend) Break(ctx context.Context, r backend.Request) (backend.Answer, error) {
	st, err := b.Inspect(ctx, r.Name)
	switch {
	case err != nil:
		return backend.Answer{}, err
	case !st.Held:
		return backend.Answer{}, backend.ErrNotHeld
	case st.Foreign && r.Turn != st.Top, !st.Foreign && r.Turn != max(st.Turn, st.Hold):
		return backend.Answer{}, backend.ErrFence
	}
	r.Hold, r.Owner = st.Hold, backend.Owner(r.Seen)
	done := b.ask(ctx, breakScript, b.message(order{Request: r}), settled("done"))
	if done.count("conflict") > len(b.nodes)-b.quorum() {
		return backend.Answer{}, backend.ErrConflict
	}
	if done.count("fence", "other") > len(b.nodes)-b.quorum() { // it moved on meanwhile
		return backend.Answer{}, backend.ErrFence
	}
	if err := done.verdict("done"); err != nil {
		return backend.Answer{}, fmt.Errorf("break: %w", err)
	}
	return backend.Answer{}, nil
}
