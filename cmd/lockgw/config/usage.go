package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

// usageWidth is where the help of flags is wrapped.
const usageWidth = 100

// groups are the titles of the flags by the first part of their keys, in the order in
// which somebody who sets up a gateway needs them.
var groups = []struct {
	title string
	parts []string
}{
	{"Store", []string{"backend"}},
	{"Where it listens", []string{"http", "socket"}},
	{"This gateway", []string{"node", "state_dir", "shutdown"}},
	{"Locks and sessions", []string{"lock", "session", "fairness"}},
	{"Who may do what", []string{"access", "admin"}},
	{"Limits", []string{"limits"}},
	{"What it tells", []string{"log", "history", "telemetry"}},
}

// writeUsage is the usage of a command whose flags are the keys, in groups.
func writeUsage(cmd *cobra.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	writeFlags(&b, "Flags", cmd, func(f *pflag.Flag) bool { return keyOf(f) == "" })
	for _, g := range groups {
		writeFlags(&b, g.title, cmd, func(f *pflag.Flag) bool {
			part, _, _ := strings.Cut(keyOf(f), ".")
			return slices.Contains(g.parts, part)
		})
	}
	b.WriteString("\nEach key of the configuration is a flag and an environment variable: backend.url is\n" +
		"--backend-url and LOCKGW_BACKEND_URL.\n")
	_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
	return err
}

func writeFlags(b *strings.Builder, title string, cmd *cobra.Command, in func(*pflag.Flag) bool) {
	some := pflag.NewFlagSet(title, pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if in(f) {
			some.AddFlag(f)
		}
	})
	fmt.Fprintf(b, "\n%s:\n%s", title, some.FlagUsagesWrapped(usageWidth))
}

// keyOf is the key that a flag is of, "" if none.
func keyOf(f *pflag.Flag) string {
	if key := f.Annotations[cli.ConfigKey]; key != nil {
		return key[0]
	}
	return ""
}
