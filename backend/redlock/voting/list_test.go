package voting

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
)

// dead is a server that cannot be asked how it is, nor listed.
type dead struct{ ledger.Table }

func (dead) List(context.Context, string, string, int) ([]ledger.Named, string, error) {
	return nil, "", errors.New("connection refused")
}

func (dead) Ping(context.Context) error { return errors.New("connection refused") }

// What several servers say stands in one line, as in a log or a terminal.
func TestErrorsOfSeveralServers(t *testing.T) {
	own := memory.OpenTable(memory.NewRows(), "a")
	all := New([]ledger.Table{own, dead{own}, dead{own}})
	defer all.Close()
	_, _, listed := all.List(t.Context(), "", "", 10)
	disagreed := all.trouble("x", []error{errors.New("connection refused"), fmt.Errorf("%w: connection refused", backend.ErrUnreachable)}, false)
	for _, err := range []error{listed, all.Ping(t.Context()), disagreed} {
		if err == nil || strings.Contains(err.Error(), "\n") || strings.Count(err.Error(), "; ") == 0 {
			t.Errorf("%q, want what both servers say in one line", err)
		}
	}
}

// A list that too few servers have told says why, whichever they are.
func TestListWithoutMajority(t *testing.T) {
	for alive := range 3 {
		var tables []ledger.Table
		for i := range 3 {
			s := ledger.Table(memory.OpenTable(memory.NewRows(), "a"))
			if i != alive {
				s = dead{s}
			}
			tables = append(tables, s)
		}
		all := New(tables)
		defer all.Close()
		if _, _, err := all.List(t.Context(), "", "", 10); !errors.Is(err, backend.ErrPartly) || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("where server %d alone answers: %v", alive+1, err)
		}
	}
}

// A list in pages tells each name, whichever servers answer first when a name is read, and with each
// server once at most.
func TestListInPages(t *testing.T) { synctest.Test(t, listInPages) }

func listInPages(t *testing.T) {
	stores := []*memory.Rows{memory.NewRows(), memory.NewRows(), memory.NewRows()}
	all := over(t, stores, "a")
	names := map[string]int{}
	for i := range 10 {
		name := fmt.Sprint("x", i)
		r, err := all.Swap(t.Context(), ledger.Swap{Name: name, Record: ledger.Record{Queue: []ledger.Entry{{Node: "a", Want: 1}}}})
		if err != nil || !r.Written {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		names[name] = 0
	}
	all.wg.Wait()
	const lists = 20
	for range lists {
		for cursor, begun := "", false; !begun || cursor != ""; begun = true {
			rows, next, err := all.List(t.Context(), "", cursor, 3)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				names[r.Name]++
			}
			cursor = next
		}
	}
	for name, n := range names {
		if n < lists || n > lists*len(stores) {
			t.Errorf("%d lists have told %s %d times", lists, name, n)
		}
	}
}
