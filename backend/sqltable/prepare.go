package sqltable

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/selftest"
)

// creations bounds how often the tables are tried to be made, while others do the same.
const creations = 5

// ready comes before each request. An error is an ErrRefused: nothing was asked for.
func (t *Table) ready(ctx context.Context) error {
	if err := t.Ear.began(ctx); err != nil {
		return err
	}
	return t.Prepare(ctx)
}

// Prepare makes the tables if they are not there, finds out whether the server is trusted, and
// tries its compare-and-set, once; or waits for who does. It comes before the first request, and
// before the next one after PrepareAgain. An error is an ErrRefused.
func (t *Table) Prepare(ctx context.Context) error {
	if t.prepared.Load() {
		return nil
	}
	select {
	case t.preparing <- struct{}{}:
		defer func() { <-t.preparing }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %s has not said yet who it is", backend.ErrUnreachable, t.db.Product)
	}
	if t.prepared.Load() {
		return nil
	}
	if err := t.prepare(ctx); err != nil {
		return Unsent("the tables could not be looked at", err)
	}
	t.prepared.Store(true)
	return nil
}

// Unsent is err, which kept a request from being sent, with the words for what has failed. That
// nobody has answered is for the breaker to know.
func Unsent(what string, err error) error {
	why := backend.ErrRefused
	switch {
	case errors.Is(err, backend.ErrRefused):
		return err
	case errors.Is(err, backend.ErrUnavailable), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		why = backend.ErrUnreachable
	}
	return fmt.Errorf("%w: %s: %s", why, what, err.Error())
}

// PrepareAgain has the next request begin with that: it may be another server, or the tables are
// gone.
func (t *Table) PrepareAgain() { t.prepared.Store(false) }

func (t *Table) prepare(ctx context.Context) error {
	if err := t.migrate(ctx); err != nil {
		return err
	}
	if err := t.Decide(ctx); err != nil && !backend.Quarantined(err) {
		return err
	}
	if run := t.Runs.Present().ID; run == "" || run != t.tested {
		if err := selftest.Run(ctx, selftest.Store{Look: t.look, Swap: t.swap}, t.Node()); err != nil {
			return err
		}
		t.tested = run
	}
	return nil
}

// migrate makes the tables. They may be there already: then the user needs no right to make any.
func (t *Table) migrate(ctx context.Context) error {
	for range creations {
		layout, err := t.layout(ctx)
		switch {
		case err != nil:
			return err
		case layout > t.db.Known:
			return fmt.Errorf("%w: the tables have layout %d, and this lockgw knows %d: it is older than the one that made them", backend.ErrRefused, layout, t.db.Known)
		case layout > 0:
			return nil
		}
		if err := t.db.Create(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: the tables of lockgw cannot be made, for others change them all the time", backend.ErrRefused)
}

// layout is the version of the tables; 0: there are none.
func (t *Table) layout(ctx context.Context) (int64, error) {
	rows, err := t.db.Rows(ctx, t.db.Layout)
	switch {
	case err != nil && t.db.Missing(err):
		return 0, nil
	case err != nil || len(rows) == 0:
		return 0, err
	}
	r := NewReader(rows[0])
	return r.Number(), r.Err
}

// Decide finds out whether the server is trusted. nil: it is. A *backend.Later: not yet.
func (t *Table) Decide(ctx context.Context) error {
	err := t.Runs.Decide(ctx, t.db.Ask)
	if errors.Is(err, ErrNoState) {
		t.PrepareAgain()
	}
	return err
}
