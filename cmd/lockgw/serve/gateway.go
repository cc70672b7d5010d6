package serve

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/lockgw/lockgw/api"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
	"github.com/lockgw/lockgw/session/listing"
	"github.com/lockgw/lockgw/session/peer"
	"github.com/lockgw/lockgw/socket"
)

// gateway is the core with its two fronts.
type gateway struct {
	manager *session.Manager
	http    *http.Server
	resp    *socket.Server
}

// admission decides who may do what, and reads the rules again on a reload. The zero value
// lets everybody lock and look.
type admission struct {
	access *access.Control
	reload func() (restart []string, err error)
	// descriptors has those of the clients, on all listeners together.
	descriptors *peer.Descriptors
	examine     func(context.Context) any
}

func newGateway(c config.Config, store ledger.Table, past legacy, in admission, seen *observation, log *slog.Logger) *gateway {
	fds := cmp.Or(in.descriptors, peer.NewDescriptors())
	mc := c.Manager()
	mc.Log, mc.Journal, mc.Past, mc.Rebind = log, past.journal, past.state, fds.Again
	mc.Refused = fds.Refused
	mc.Observer = seen.observer
	if past.history != nil {
		mc.History = past.history
	}
	g := &gateway{manager: session.New(store, mc)}
	lists := listing.New(g.manager)
	g.http = api.NewServer(api.New(api.Config{
		Manager: g.manager, Lists: lists, AllowedHosts: c.HTTP.AllowedHosts, Descriptors: fds,
		Access: in.access, Reload: in.reload, Examine: in.examine, Version: cli.Version(), Log: log, History: past.history, Metrics: seen.metrics, Around: seen.around,
	}))
	g.resp = socket.NewServer(socket.Config{Manager: g.manager, Lists: lists, Descriptors: fds, Access: in.access, Version: cli.Version(), Log: log})
	return g
}

// stop refuses what is new, releases or keeps what is held, and then ends the fronts, so
// that they can still tell everybody. What is under way after timeout is cut off
// by the end of the process.
func (g *gateway) stop(timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	err := g.manager.Close(ctx)
	_ = g.resp.Shutdown(ctx)
	_ = g.http.Shutdown(ctx)
	if err != nil {
		return fmt.Errorf("release what is held: %w", err)
	}
	return nil
}
