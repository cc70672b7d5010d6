package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// noJSON are the commands that print nothing: one writes a log, the other files.
var noJSON = []string{"lockgw serve", "lockgw man"}

// Every command that tells something tells it as JSON, too, and names no -o that it lacks.
func TestEveryCommandHasJSON(t *testing.T) {
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, c := range visible(cmd) {
			check(c)
			f := c.Flags().Lookup("json")
			if has := f != nil; !c.HasSubCommands() && has == slices.Contains(noJSON, c.CommandPath()) {
				t.Errorf("%s has --json: %v", c.CommandPath(), has)
			}
			if has := c.Flags().Lookup("output") != nil; f != nil && has != strings.Contains(f.Usage, "-o") {
				t.Errorf("%s has -o: %v, and says of --json: %s", c.CommandPath(), has, f.Usage)
			}
		}
	}
	check(newRootCommand())
}
