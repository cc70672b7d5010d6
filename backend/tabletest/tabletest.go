// Package tabletest is what every ledger.Table has to pass: one test for each sentence
// of the interface, against the real store.
package tabletest

import (
	"testing"

	"github.com/lockgw/lockgw/backend/ledger"
)

// Open makes a Table of one store as node sees it. The suite closes it.
type Open func(t *testing.T, node string) ledger.Table

// Run runs the suite. All tables that open makes have to be of the same store, which
// may have other names in it.
func Run(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		run  func(*env)
	}{
		{"swap", (*env).swap},
		{"a swap that lost changes nothing", (*env).swapLost},
		{"fences of a new record", (*env).fences},
		{"versions are never used again", (*env).versions},
		{"leases", (*env).leases},
		{"what is not over is not ended", (*env).ended},
		{"shared holds and offers", (*env).several},
		{"renewals", (*env).renewals},
		{"join", (*env).join},
		{"join a name that nobody has", (*env).joinNobody},
		{"join a name that is kept from everybody", (*env).joinDelayed},
		{"join a name that is made just now", (*env).joinNew},
		{"messages", (*env).messages},
		{"when it was told", (*env).told},
		{"texts", (*env).texts},
		{"nobody hears", (*env).unheard},
		{"one of many writers wins", (*env).race},
		{"what a row does", (*env).walk},
		{"names", (*env).names},
		{"what was not seen is not ended", (*env).evict},
		{"list", (*env).list},
		{"info", (*env).info},
		{"what was given up before it was sent", (*env).canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(newEnv(t, open))
		})
	}
}
