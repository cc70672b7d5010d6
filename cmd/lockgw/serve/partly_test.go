package serve

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// partly is a store that serves in part.
type partly struct{ ledger.Table }

func (p partly) List(ctx context.Context, prefix, cursor string, limit int) ([]ledger.Named, string, error) {
	all, next, err := p.Table.List(ctx, prefix, cursor, limit)
	if err == nil {
		err = fmt.Errorf("%w: 1 of 3 masters is down", backend.ErrPartly)
	}
	return all, next, err
}

// What can be had is on stdout, and that it is not all on stderr.
func TestListIncomplete(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	past, err := remember(t.TempDir(), config.History{}, log)
	if err != nil {
		t.Fatal(err)
	}
	defer past.journal.Close()
	store := partly{memory.OpenTable(memory.NewRows(), past.state.Node)}
	defer store.Close()
	next, effects := ledger.Step(ledger.Record{}, ledger.Op{Node: "other", Want: 1, Turns: 1, TTL: time.Minute}, 0)
	if r, err := store.Swap(t.Context(), ledger.Swap{Name: "nightly", Record: next, Effects: effects}); err != nil || !r.Written {
		t.Fatal(r, err)
	}
	g := newGateway(config.Default(), store, past, admission{}, &observation{}, log)
	path := filepath.Join(t.TempDir(), cli.RespSocket)
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- g.resp.Serve(ln) }()
	defer func() {
		if err := g.stop(e2e.Patience); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	for _, args := range [][]string{{"ls"}, {"ls", "-o", "json"}, {"status"}} {
		var out, errs bytes.Buffer
		cmd := program()
		cmd.SetArgs(append(args, "--socket", path))
		cmd.SetOut(&out)
		cmd.SetErr(&errs)
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Errorf("%q: %v, want no failure", args, err)
		}
		want := "lockgw: this list is incomplete: the store serves in part: 1 of 3 masters is down\n"
		if !strings.Contains(out.String(), "nightly") || errs.String() != want {
			t.Errorf("%q wrote %q and %q, want the lock and %q", args, out.String(), errs.String(), want)
		}
	}
}
