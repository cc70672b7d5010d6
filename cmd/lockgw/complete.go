package main

import (
	"context"
	"strings"
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

// completeSession offers the ids of the sessions that the gateway has, to those who may
// list them.
func (g *gatewayFlags) completeSession(file *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 || flagsFromEnv(cmd.Flags()) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
		defer cancel()
		c, err := g.dial(ctx, socket.DialOptions{})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer c.Close()
		token, err := readAdminToken(*file)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		page, _, err := c.Sessions(ctx, socket.SessionQuery{Token: token})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var ids []cobra.Completion
		for _, s := range page {
			ids = append(ids, cobra.CompletionWithDesc(s.ID, strings.TrimSpace(clientText(s.Peer)+" "+printable(s.Name))))
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}
