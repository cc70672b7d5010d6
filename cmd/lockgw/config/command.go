package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

// New is the command `config`.
func New() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check and show the configuration of the gateway",
		Args:  cli.UsageArgs(cli.NoSuchCommand),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCheck(), newShow(), newSchema())
	return cmd
}

// checked is what was found in a configuration.
type checked struct {
	File     string   `json:"file,omitempty"` // none: there is none
	Warnings []string `json:"warnings"`
	Problems []string `json:"problems,omitempty"` // none: it is valid
}

func newCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Report everything that is wrong with the configuration",
		Args:  cli.UsageArgs(cli.NoArgs),
	}
	format := "table"
	load := AddFlags(cmd)
	cli.JSONVar(cmd.Flags(), &format)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := load()
		if format == "json" {
			found := checked{File: s.File, Warnings: append([]string{}, s.Warnings...)}
			var wrong invalid
			if errors.As(err, &wrong) {
				found.Problems = each(wrong.error)
			}
			return cmp.Or(cli.WriteJSON(cmd.OutOrStdout(), found), err)
		}
		s.Warn(cmd)
		if err != nil {
			return err
		}
		if s.File == "" {
			s.File = "no file, " + systemFile + " does not exist"
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "ok (%s)\n", s.File)
		return err
	}
	return cmd
}

// Warn tells of what is no error, but hardly meant.
func (s Settings) Warn(cmd *cobra.Command) {
	for _, warning := range s.Warnings {
		fmt.Fprintln(cmd.ErrOrStderr(), "lockgw: warning:", warning)
	}
}

// SlogLevel is what log.level says.
func (c Log) SlogLevel() slog.Level {
	var l slog.Level
	if err := l.UnmarshalText([]byte(c.Level)); err != nil {
		panic(fmt.Sprintf("log.level %q: %v", c.Level, err)) // the loader lets only levels pass
	}
	return l
}
