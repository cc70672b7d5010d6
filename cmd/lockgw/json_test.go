package main

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

// noJSON are the commands that print nothing: one writes a log, the other files.
var noJSON = []string{"lockgw serve", "lockgw man"}

// Every command that tells something tells it as JSON, too.
func TestEveryCommandHasJSON(t *testing.T) {
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, c := range visible(cmd) {
			check(c)
			if has := c.Flags().Lookup("json") != nil; !c.HasSubCommands() && has == slices.Contains(noJSON, c.CommandPath()) {
				t.Errorf("%s has --json: %v", c.CommandPath(), has)
			}
		}
	}
	check(newRootCommand())
}
