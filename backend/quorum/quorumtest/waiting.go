package quorumtest

import (
	"testing"

	"github.com/lockgw/lockgw/backend/ledger"
)

// LeftWaiting has a give back a name for which b waits, and one for which a node waits that dies
// then. The record of that one goes, and not that of the other. sweep deletes at once what nobody
// uses.
func LeftWaiting(t *testing.T, a, b, dead *Client, sweep func() error) {
	t.Helper()
	for _, waits := range []*Client{b, dead} {
		name := "awaited by " + waits.Node()
		a.Take(name)
		waits.Ask(name, ledger.Op{Want: 1})
		a.Leave(name)
	}
	_ = dead.Close()
	there := func(waits *Client) bool {
		r, err := a.Look(t.Context(), "awaited by "+waits.Node())
		if err != nil {
			t.Fatal(err)
		}
		return r.Version != ""
	}
	until(t, "what a dead node waited for stays", func() bool {
		if err := sweep(); err != nil {
			t.Fatal(err)
		}
		return !there(dead)
	})
	if !there(b) {
		t.Error("a record was deleted for which a living node waits")
	}
}
