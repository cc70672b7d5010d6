package verbs

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

// NewMan is the command `man`.
func NewMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIRECTORY",
		Short: "Write the manual pages into a directory",
		Long: `Write a manual page for each command into a directory, which is made if it is
not there. SOURCE_DATE_EPOCH sets their date.`,
		Example: `  lockgw man /usr/local/share/man/man1
  man lockgw-run`,
		Args: cli.UsageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return cli.Exit(cli.ExitUsage, err)
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // a line about the tool, not about lockgw
			describeDefaults(root)
			header := doc.GenManHeader{Section: "1", Source: "lockgw", Manual: "lockgw"}
			if err := doc.GenManTree(root, &header, args[0]); err != nil {
				return cli.Exit(cli.ExitFailed, fmt.Errorf("write the manual pages: %w", err))
			}
			return nil
		},
	}
}

// describeDefaults puts words in place of what is the default on this machine, for this user:
// the pages of a package are for other ones.
func describeDefaults(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if text := f.Annotations[cli.DefaultText]; text != nil {
			f.DefValue = text[0]
		}
	})
	for _, c := range cmd.Commands() {
		describeDefaults(c)
	}
}
