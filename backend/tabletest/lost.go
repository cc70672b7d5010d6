package tabletest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// LostAnswers has writes carried out by the server at addr whose answers are lost with the
// connection. A Table must not say of one of them that it was refused: who gives a name back
// and hears that goes on as if it still had it. open makes a Table that uses the server at an
// address of its choice; the test closes it.
func LostAnswers(t *testing.T, addr string, open func(t *testing.T, addr, node string) ledger.Table) {
	p := NewRelay(t, addr)
	e := newEnv(t, func(t *testing.T, node string) ledger.Table {
		if node[0] == 'a' {
			return open(t, p.Addr, node)
		}
		return open(t, addr, node)
	})
	lost := 0
	for i := 0; i < 10 && lost < 4; i++ {
		e.name = fmt.Sprintf("tabletest:%s:%d", e.run, i)
		e.until(func() bool { // the connection that was cut is made anew
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, err := e.a.Look(ctx, e.name)
			return err == nil
		})
		held := e.granted(e.a)
		seen := e.look(e.a)
		p.Cut(true)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		_, err := e.a.Swap(ctx, e.step(e.a, seen, ledger.Op{Verb: ledger.Leave, Hold: held.ID}))
		cancel()
		p.Cut(false)
		if is := e.look(e.b); is.Version == seen.Version || err == nil {
			continue
		}
		if lost++; errors.Is(err, backend.ErrRefused) || !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("write %d was carried out, but it is said that %v", i, err)
		}
	}
	if lost == 0 {
		t.Error("no answer was lost")
	}
}
