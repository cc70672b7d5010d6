package run

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// checkNested refuses to wait for a lock that the caller holds already, as a command of run
// does that runs it again under the same name: it would wait for its own end. The token in
// the environment says which session the caller's is; one that has ended says nothing. Those who
// share a lock are no reason to wait.
func (o *options) checkNested(ctx context.Context) error {
	token := strings.TrimSpace(os.Getenv("LOCKGW_TOKEN"))
	if token == "" || o.noWait || o.limit > 0 {
		return nil
	}
	g, err := o.connect(ctx, client.Options{Token: client.Token(token)})
	if err != nil {
		return nil //nolint:nilerr // whoever takes the lock tells that the gateway is away
	}
	defer g.Close()
	ctx, cancel := context.WithTimeout(ctx, cli.DialTimeout)
	defer cancel()
	info, err := g.Session(ctx)
	if err != nil {
		return nil //nolint:nilerr // likewise
	}
	for _, h := range info.Holds {
		if slices.Contains(o.names, h.Name) && (!o.shared || exclusive(ctx, g, h.Name)) {
			return cli.Exit(cli.ExitFailed, fmt.Errorf("%s is held by the session of LOCKGW_TOKEN already, under which this command runs: "+
				"it would wait for itself. Run the command without lockgw, or take another name", h.Name))
		}
	}
	return nil
}

// exclusive tells whether the session of g, which holds name, has it alone.
func exclusive(ctx context.Context, g gateway, name string) bool {
	st, err := g.Info(ctx, name)
	return err == nil && st.Mode == client.Exclusive
}
