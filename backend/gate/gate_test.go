package gate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/gate"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/backend/tabletest"
)

// answers is a Table that says what it was told to say.
type answers struct {
	ledger.Table
	reply ledger.Reply
	err   error
	asked int
}

func (a *answers) Swap(context.Context, ledger.Swap) (ledger.Reply, error) {
	a.asked++
	return a.reply, a.err
}

func (a *answers) Join(context.Context, string, ledger.Entry, backend.Fence) (ledger.Reply, error) {
	a.asked++
	return a.reply, a.err
}

func closed(context.Context, string) (func(error), error) { return nil, backend.ErrRefused }

func open(context.Context, string) (func(error), error) { return func(error) {}, nil }

// What a gate that is closed lets through.
func TestClosed(t *testing.T) {
	for _, tt := range []struct {
		what   string
		does   ledger.Effects
		passes bool
	}{
		{"a grant", ledger.Effects{Grants: true}, false},
		{"the taking of an offer", ledger.Effects{Grants: true, Taken: true}, true},
		{"what gives back", ledger.Effects{}, true},
	} {
		a := &answers{}
		_, err := gate.New(a, closed).Swap(t.Context(), ledger.Swap{Name: "n", Effects: tt.does})
		if (a.asked == 1) != tt.passes || (err == nil) != tt.passes {
			t.Errorf("%s: asked the store %d times, err = %v, want that it passes: %v", tt.what, a.asked, err, tt.passes)
		}
	}
	a := &answers{}
	if _, err := gate.New(a, closed).Join(t.Context(), "n", ledger.Entry{}, 0); !errors.Is(err, backend.ErrRefused) || a.asked != 0 {
		t.Errorf("a join: err = %v, asked %d times, want %v without asking", err, a.asked, backend.ErrRefused)
	}
}

// What may have been granted is found out, for as long as that is not known.
func TestPassesWhatIsUnknown(t *testing.T) {
	a, shut := &answers{}, false
	g := gate.New(a, func(ctx context.Context, name string) (func(error), error) {
		if shut {
			return closed(ctx, name)
		}
		return open(ctx, name)
	})
	asks := func(name string) bool {
		before := a.asked
		_, _ = g.Swap(t.Context(), ledger.Swap{Name: name, Base: "v", Effects: ledger.Effects{Grants: true}})
		return a.asked > before
	}
	a.err = fmt.Errorf("%w: lost", backend.ErrUnavailable)
	asks("n")
	shut = true
	for _, step := range []struct {
		what   string
		reply  ledger.Reply
		err    error
		passes bool // the next one
	}{
		{"no answer again", ledger.Reply{}, backend.ErrUnavailable, true},
		{"refused", ledger.Reply{}, backend.ErrRefused, true},
		{"not written, and the version is as it was", ledger.Reply{Version: "v"}, nil, true},
		{"another version", ledger.Reply{Version: "w"}, nil, false},
	} {
		a.reply, a.err = step.reply, step.err
		if !asks("n") {
			t.Fatalf("before %q: the store was not asked", step.what)
		}
		if asks("other") {
			t.Errorf("%s: the store was asked for another name", step.what)
		}
		if passes := asks("n"); passes != step.passes {
			t.Errorf("after %q: the store was asked: %v, want %v", step.what, passes, step.passes)
		}
	}
}

// A gate that is open changes nothing.
func TestTable(t *testing.T) {
	rows := memory.NewRows()
	tabletest.Run(t, func(_ *testing.T, node string) ledger.Table { return gate.New(memory.OpenTable(rows, node), open) })
}
