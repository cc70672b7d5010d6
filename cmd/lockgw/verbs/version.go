package verbs

import (
	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

// NewVersion is the command `version`.
func NewVersion() *cobra.Command {
	format := "table"
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version of lockgw",
		Args:  cli.UsageArgs(cli.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.WriteVersion(cmd.OutOrStdout(), format)
		},
	}
	cli.FormatVar(cmd.Flags(), &format, "table", "json")
	return cmd
}
