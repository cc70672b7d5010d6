package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/socket"
)

// completeFirst offers names for the first argument alone.
func (g *gatewayFlags) completeFirst(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return g.completeName(cmd, args, toComplete)
}

// completeName offers the names that the gateway knows.
func (g *gatewayFlags) completeName(cmd *cobra.Command, _ []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if flagsFromEnv(cmd.Flags()) != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
	defer cancel()
	c, err := g.dial(ctx, socket.DialOptions{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer c.Close()
	known, _, err := c.Locks(ctx, toComplete, 0)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	for _, st := range known {
		names = append(names, st.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
