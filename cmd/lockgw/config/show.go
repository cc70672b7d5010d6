package config

import (
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

func newShow() *cobra.Command {
	format := "table"
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the values in force and where each comes from",
		Args:  cli.UsageArgs(cli.NoArgs),
	}
	load := AddFlags(cmd)
	cli.FormatVar(cmd.Flags(), &format, "table", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := load()
		if err != nil {
			return err
		}
		s.Warn(cmd) // who looks here wonders why a value is not in force
		if format == "json" {
			return cli.WriteJSON(cmd.OutOrStdout(), s.Shown())
		}
		return s.writeTable(cmd.OutOrStdout())
	}
	return cmd
}

// ShownValue is a value as `config show` tells it.
type ShownValue struct {
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// Shown are the values by key, without secrets.
func (s Settings) Shown() map[string]ShownValue {
	values := map[string]ShownValue{}
	for _, f := range fields() {
		values[f.key] = ShownValue{Value: f.shown(&s.Config), Origin: s.Origins[f.key]}
	}
	return values
}

func (f field) shown(c *Config) string {
	switch f.key {
	case "backend.url":
		return withoutPassword(c.Backend.URL)
	case "backend.postgres.listen_url":
		return withoutPassword(c.Backend.Postgres.ListenURL)
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

func (s Settings) writeTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "KEY\tVALUE\tORIGIN")
	values := s.Shown()
	for _, f := range fields() {
		v := values[f.key]
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.key, cli.Dash(v.Value), v.Origin)
	}
	return t.Flush()
}
