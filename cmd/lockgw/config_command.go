package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func newConfigCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check and show the configuration of the gateway",
		Args:  usageArgs(noSuchCommand),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigCheckCommand(), newConfigShowCommand(), newConfigSchemaCommand())
	return cmd
}

func newConfigCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Report everything that is wrong with the configuration",
		Args:  usageArgs(cobra.NoArgs),
	}
	load := withConfig(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := load()
		for _, warning := range s.warnings {
			fmt.Fprintln(cmd.ErrOrStderr(), "lockgw: warning:", warning)
		}
		if err != nil {
			return err
		}
		if s.file == "" {
			s.file = "no file, " + systemConfigFile + " does not exist"
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "ok (%s)\n", s.file)
		return err
	}
	return cmd
}

func newConfigShowCommand() *cobra.Command {
	format := "table"
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the values in force and where each comes from",
		Args:  usageArgs(cobra.NoArgs),
	}
	load := withConfig(cmd)
	choiceVar(cmd.Flags(), &format, "output", "o", "form of the output", "table", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := load()
		if err != nil {
			return err
		}
		if format == "json" {
			return writeJSON(cmd.OutOrStdout(), s.shown())
		}
		return s.writeTable(cmd.OutOrStdout())
	}
	return cmd
}

// withConfig gives cmd the flags of the configuration and returns what reads it.
func withConfig(cmd *cobra.Command) func() (settings, error) {
	l := &configLoader{flags: cmd.Flags()}
	cmd.Flags().StringVar(&l.file, "config", "", "configuration file (default: "+systemConfigFile+" if it exists)")
	addConfigFlags(cmd.Flags())
	return func() (settings, error) {
		l.others = append(twins(cmd.Root()), ours...)
		s, err := l.load()
		if err != nil {
			return s, exit(exitUsage, fmt.Errorf("the configuration is not valid:\n%w", indented(err)))
		}
		return s, nil
	}
}

// indented puts every line of err under the sentence before it.
func indented(err error) error {
	return errors.New("  " + strings.ReplaceAll(err.Error(), "\n", "\n  "))
}

// shownValue is a value as `config show` tells it.
type shownValue struct {
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// shown are the values by key, without secrets.
func (s settings) shown() map[string]shownValue {
	values := map[string]shownValue{}
	for _, f := range configFields() {
		values[f.key] = shownValue{Value: f.shown(&s.config), Origin: s.origins[f.key]}
	}
	return values
}

func (f field) shown(c *config) string {
	if f.key == "backend.url" {
		return withoutPassword(c.Backend.URL)
	}
	return f.text(c)
}

// withoutPassword hides what a URL may have as a secret: the password, and the
// values of its query, where some stores take it from.
func withoutPassword(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(hidden)"
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "(hidden)"
	}
	for key := range query {
		if strings.Contains(strings.ToLower(key), "pass") {
			query.Set(key, "xxxxx")
			u.RawQuery = query.Encode()
		}
	}
	if u.RawQuery == "" && u.User == nil {
		return raw // as it was written
	}
	return u.Redacted()
}

func (s settings) writeTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "KEY\tVALUE\tORIGIN")
	values := s.shown()
	for _, f := range configFields() {
		v := values[f.key]
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.key, dash(v.Value), v.Origin)
	}
	return t.Flush()
}
