package cli

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// durations are how session.ParseDuration reads them.
const durations = "A duration is 30s, 1h30m, 7d or a number of seconds, such as 0.5."

// setHelp has the help of all commands tell how a duration is written, where there are flags for
// some, and *err be why the help could not be written, of which cobra does not tell.
func setHelp(root *cobra.Command, err *error) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		out := cmd.OutOrStdout()
		var text bytes.Buffer
		cmd.SetOut(&text)
		help(cmd, args)
		cmd.SetOut(out)
		if hasDuration(cmd.Flags()) {
			fmt.Fprintf(&text, "\n%s\n", durations)
		}
		_, *err = out.Write(text.Bytes())
	})
}

func hasDuration(flags *pflag.FlagSet) (has bool) {
	flags.VisitAll(func(f *pflag.Flag) { has = has || f.Value.Type() == "duration" })
	return has
}
