// Package floor is the command `floor`.
package floor

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
	"github.com/lockgw/lockgw/cmd/lockgw/serve"
)

// New is the command `floor`.
func New() *cobra.Command {
	format := "table"
	cmd := &cobra.Command{
		Use:   "floor",
		Short: "Print a number above every fence that the store has given, for a move to another store",
		Long: `Print a number above every fence that the store has given. In the configuration of
the gateways that move to another store it is backend.fence_floor: what checks fences never
sees one that is lower than before. It is a day ahead of the newest one, for names that the
store does not know any more.

Stop all gateways of the old store first: what they grant later is not counted. The store is
the one of the configuration, of LOCKGW_BACKEND_URL or of --backend-url. A unit of systemd may
have it from a file that this shell does not know (EnvironmentFile=).`,
		Example: "  lockgw floor --backend-url redis://old:6379/0",
		Args:    cli.UsageArgs(cli.NoArgs),
	}
	load := config.AddFlags(cmd)
	cli.FormatVar(cmd.Flags(), &format, "table", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := load()
		s.Warn(cmd)
		if err != nil {
			return err
		}
		if !s.Given("backend.url") {
			fmt.Fprintln(cmd.ErrOrStderr(), "lockgw: warning: no store is configured here, so this is the number of the embedded one. "+
				"If the gateway has backend.url from elsewhere, as from an EnvironmentFile= of its unit, name the store with LOCKGW_BACKEND_URL or --backend-url")
		}
		least, err := serve.Floor(cmd.Context(), s.Config)
		if err != nil {
			return cli.Exit(cli.ExitUnavailable, fmt.Errorf("the fences of the store cannot be read: %w", err))
		}
		return cli.WriteResult(cmd.OutOrStdout(), format, map[string]uint64{"fence_floor": uint64(least)}, fmt.Sprint(least))
	}
	return cmd
}
