package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is the version of a released build, set by the linker.
var release string

// version is that of this program, or what the Go tools know of it.
func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func newVersionCommand() *cobra.Command {
	format := "table"
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version of lockgw",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format == "json" {
				return writeJSON(cmd.OutOrStdout(), map[string]string{"version": version(), "go": runtime.Version()})
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "lockgw %s %s\n", version(), runtime.Version())
			return err
		},
	}
	choiceVar(cmd.Flags(), &format, "output", "o", "form of the output", "table", "json")
	return cmd
}
