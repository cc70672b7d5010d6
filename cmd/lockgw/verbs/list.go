package verbs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// NewList is the command `ls`.
func NewList() *cobra.Command {
	var (
		g   cli.Gateway
		out cli.Output
		q   client.LockQuery
		all bool
	)
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the locks that are held or waited for",
		Example: `  lockgw ls --sort waiters               # what most wait for, first
  lockgw ls --contains report --state waited
  lockgw ls --all -o name`,
		Args: cli.UsageArgs(cli.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.With(cmd, "", func(ctx context.Context, c *client.Client) error {
				return out.ShowLocks(ctx, cmd, c, q, all)
			})
		},
	}
	g.AddFlag(cmd.Flags())
	out.AddFlag(cmd.Flags())
	f := cmd.Flags()
	f.StringVar(&q.Prefix, "prefix", "", "list only names that begin with this")
	f.StringVar(&q.Contains, "contains", "", "list only names with this in them; small and capital letters are alike")
	cli.ChoiceVar(f, &q.State, "state", "", "list only locks in this state: held, free or waited (somebody waits)", "held", "free", "waited")
	cli.ChoiceVar(f, &q.Sort, "sort", "", "sort by name, holder, held, lease, waiters or fence", "name", "holder", "held", "lease", "waiters", "fence")
	cli.ChoiceVar(f, &q.Order, "order", "", "asc or desc; without it names and holders ascend, and numbers descend", "asc", "desc")
	f.BoolVar(&all, "all", false, fmt.Sprintf("list all, also if they are more than %d", cli.MaxLocks))
	return cmd
}
