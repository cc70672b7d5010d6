package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/floor"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
	"github.com/lockgw/lockgw/session/journal"
)

// Floor is a number above every fence that the store of c has given, those with c among them. It looks at the store
// as a node of its own and changes nothing there. backend.ErrUnavailable, backend.ErrPartly:
// it could not be read, or not all of it, within backend.timeout.
func Floor(ctx context.Context, c config.Config) (least backend.Fence, err error) {
	table, err := openTable(c, legacy{state: journal.State{Node: "floor-" + rand.Text()}}, slog.New(slog.DiscardHandler))
	if err != nil {
		return 0, fmt.Errorf("backend.url: %w", err)
	}
	defer func() { err = errors.Join(err, table.Close()) }()
	table.Listen(func(ledger.Addressed) {})
	ctx, cancel := context.WithTimeout(ctx, 10*c.Backend.Timeout)
	defer cancel()
	if least, err = floor.Of(ctx, table, time.Now()); err != nil {
		return 0, err
	}
	// The fences of names that the store has forgotten began above this one.
	return max(least, floor.Above(backend.Fence(c.Backend.FenceFloor))), nil
}
