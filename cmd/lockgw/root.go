package main

import (
	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
	"github.com/lockgw/lockgw/cmd/lockgw/doctor"
	"github.com/lockgw/lockgw/cmd/lockgw/floor"
	"github.com/lockgw/lockgw/cmd/lockgw/run"
	"github.com/lockgw/lockgw/cmd/lockgw/serve"
	"github.com/lockgw/lockgw/cmd/lockgw/top"
	"github.com/lockgw/lockgw/cmd/lockgw/verbs"
)

func newRootCommand() *cobra.Command {
	root := cli.NewRoot()
	root.AddGroup(&cobra.Group{ID: "locks", Title: "Locks:"}, &cobra.Group{ID: "gateway", Title: "Gateway:"})
	addToGroup(root, "locks", run.New(), verbs.NewLock(), verbs.NewUnlock(), verbs.NewRenew(), verbs.NewStatus(), verbs.NewHistory(), verbs.NewList(),
		top.New(), verbs.NewWatch(), verbs.NewBreak(), verbs.NewSession())
	addToGroup(root, "gateway", serve.New(doctor.Examine), config.New(), doctor.New(), floor.New(), verbs.NewBench(), verbs.NewMan(), verbs.NewVersion())
	root.AddCommand(run.NewGuardian())
	return root
}

func addToGroup(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		root.AddCommand(c)
	}
}
