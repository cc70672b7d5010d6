package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

var Update = flag.Bool("update", false, "write the reference page instead of comparing it")

const referencePage = "../../docs/reference/cli.md"

// The page about the command line is what the commands say of themselves.
func TestReferencePage(t *testing.T) {
	root := newRootCommand()
	root.InitDefaultCompletionCmd()
	page := "<!-- made by go generate ./docs/check; do not edit -->" +
		"\n\n# Command line\n\n" + commandIndex(root) + commandPages(root)
	if *Update {
		if err := os.WriteFile(referencePage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(referencePage); err != nil || string(got) != page {
		t.Errorf("docs/reference/cli.md is not what the commands say (err %v): run go generate ./docs/check", err)
	}
}

func visible(cmd *cobra.Command) (all []*cobra.Command) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			all = append(all, c)
		}
	}
	return all
}

func commandIndex(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n| command | |\n|---|---|\n", root.Long)
	for _, c := range visible(root) {
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", c.Name(), strings.ReplaceAll(c.CommandPath(), " ", "-"), c.Short)
	}
	return b.String()
}

// commandPages describes all commands below cmd. What completion is of is one
// shell like the other.
func commandPages(cmd *cobra.Command) string {
	if cmd.Name() == "completion" {
		return ""
	}
	var b strings.Builder
	for _, c := range visible(cmd) {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n```\n%s\n```\n", c.CommandPath(), cmp.Or(c.Long, c.Short), c.UseLine())
		if c.Example != "" {
			fmt.Fprintf(&b, "\nFor example\n\n```\n%s\n```\n", unindented(c.Example))
		}
		b.WriteString(flagTable(c))
		b.WriteString(commandPages(c))
	}
	return b.String()
}

func unindented(text string) string {
	return strings.TrimPrefix(strings.ReplaceAll(text, "\n  ", "\n"), "  ")
}

func flagTable(c *cobra.Command) string {
	var b strings.Builder
	ofConfig := false
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		ofConfig = ofConfig || f.Annotations[cli.ConfigKey] != nil
		if f.Hidden || f.Name == "help" || f.Annotations[cli.ConfigKey] != nil {
			return
		}
		if b.Len() == 0 {
			b.WriteString("\n| flag | variable | default | |\n|---|---|---|---|\n")
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", flagName(f), cli.EnvVar(f.Name), defaultText(f), strings.ReplaceAll(usageText(f), "|", `\|`))
	})
	if ofConfig {
		b.WriteString("\nEach key of the [configuration](../configuration.md) is a flag, too: `--backend-url` for `backend.url`.\n")
	}
	return b.String()
}

func flagName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "`-" + f.Shorthand + "`, `--" + f.Name + "`"
	}
	return "`--" + f.Name + "`"
}

func usageText(f *pflag.Flag) string {
	_, usage := pflag.UnquoteUsage(f)
	return usage
}

func defaultText(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "[]", "0", "0s", "false":
		return ""
	}
	return "`" + f.DefValue + "`"
}
