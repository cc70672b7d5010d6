package verbs

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

// NewVersion is the command `version`.
func NewVersion() *cobra.Command {
	format := "table"
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version of lockgw",
		Args:  cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format == "json" {
				return cli.WriteJSON(cmd.OutOrStdout(), map[string]string{"version": cli.Version(), "go": runtime.Version()})
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "lockgw %s %s\n", cli.Version(), runtime.Version())
			return err
		},
	}
	cli.FormatVar(cmd.Flags(), &format, "table", "json")
	return cmd
}
