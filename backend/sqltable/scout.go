package sqltable

import (
	"context"

	"github.com/lockgw/lockgw/backend"
)

// scout has the gateway follow where the address leads. Another server may answer there while the
// connections to the one before go on, as where a name leads elsewhere, or a proxy does: they may last
// for as long as the gateway does, and others would be granted at the one what it holds at the other.
func (t *Table) scout(life context.Context) {
	for backend.Wait(life, backend.ScoutEach(t.Lease)) {
		ctx, cancel := context.WithTimeout(life, backend.ScoutMost)
		if server, err := t.db.Scout(ctx); err == nil { // else others tell
			if was := t.Runs.Present(); was.Server != "" && was.Server != server {
				t.Log.Warn("the address of "+t.db.Product+" leads to another server than before, or to another run of it; all connections are made anew", "before", was.Server, "now", server)
				t.Reset()
				_ = t.Decide(ctx) // whoever asks next is told
			}
		}
		cancel()
	}
}
