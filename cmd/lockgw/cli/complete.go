package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockgw/lockgw/socket/client"
)

// CompleteFirst offers names for the first argument alone.
func (g *Gateway) CompleteFirst(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return g.CompleteName(cmd, args, toComplete)
}

// inShell are characters by which a shell may run what somebody has called a lock. Bash puts the
// beginning that several names have in common into the line as it is.
const inShell = "$`\\\"'!;&|<>()"

// CompleteName offers the names that the gateway knows, but for those that have to be quoted.
func (g *Gateway) CompleteName(cmd *cobra.Command, _ []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return g.Complete(cmd, func(ctx context.Context, c *client.Client) (names []cobra.Completion) {
		known, _ := c.Locks(ctx, client.LockQuery{Prefix: toComplete})
		for _, st := range known.Items {
			if !strings.ContainsAny(st.Name, inShell) {
				names = append(names, st.Name)
			}
		}
		return names
	})
}

// Complete offers what ask finds at the gateway, nothing if that does not answer soon.
func (g *Gateway) Complete(cmd *cobra.Command, ask func(context.Context, *client.Client) []cobra.Completion) ([]cobra.Completion, cobra.ShellCompDirective) {
	if FlagsFromEnv(cmd.Flags()) != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
	defer cancel()
	c, err := g.Dial(ctx, client.Options{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer c.Close()
	return ask(ctx, c), cobra.ShellCompDirectiveNoFileComp
}

// completeChoices offers the words of all flags that take one of a few, of cmd and below it. The
// type of such a flag is its words, as the help shows them.
func completeChoices(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if words := strings.Split(f.Value.Type(), "|"); len(words) > 1 {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // it fails the second time
		}
	})
	for _, c := range cmd.Commands() {
		completeChoices(c)
	}
}
