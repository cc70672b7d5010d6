package verbs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// NewStatus is the command `status`.
func NewStatus() *cobra.Command {
	var (
		g   cli.Gateway
		out cli.Output
	)
	cmd := &cobra.Command{
		Use:               "status [NAME]",
		Short:             "Show who holds a lock, or all locks that are held",
		Args:              cli.UsageArgs(cobra.MaximumNArgs(1)),
		ValidArgsFunction: g.CompleteFirst,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckNames(args...); err != nil {
				return err
			}
			return g.With(cmd, "", func(ctx context.Context, c *client.Client) error {
				if len(args) == 0 { // not those that are only waited for
					return out.ShowLocks(ctx, cmd, c, client.LockQuery{State: string(client.Held)}, true)
				}
				st, err := c.Info(ctx, args[0])
				if err != nil {
					return err
				}
				w, now := cmd.OutOrStdout(), time.Now()
				err = out.Write(w, cli.NewLockJSON(st, now), []string{st.Name}, func() error { return writeBlock(w, st, now) })
				if err != nil || st.State != client.Unknown {
					return err
				}
				return cli.Exit(cli.ExitUnavailable, fmt.Errorf("it is not known who holds %s: %s", st.Name, st.Trouble))
			})
		},
	}
	g.AddFlag(cmd.Flags())
	out.AddFlag(cmd.Flags())
	return cmd
}

// writeBlock writes everything about one lock, one line each.
func writeBlock(w io.Writer, st client.Status, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(label, format string, args ...any) {
		fmt.Fprintf(t, "  %s:\t%s\n", label, cli.Printable(fmt.Sprintf(format, args...)))
	}
	fmt.Fprintln(t, "Lock Info:")
	line("Name", "%s", st.Name)
	line("State", "%s", cli.StateText(st))
	if st.Holder != nil {
		holderLines(line, *st.Holder, now)
	}
	if st.TTL > 0 {
		line("Lease", "%s left", cli.LeaseText(st))
	}
	line("Fence", "%d", st.Fence)
	line("Waiters", "%s", cli.WaitersText(st))
	for _, n := range st.Silent {
		line("No answer", "from %s; what is told of it is as of %s", cmp.Or(n.Node, "a machine that waits"), asOf(n.AsOf, now))
	}
	if st.Trouble != "" {
		line("Trouble", "%s", st.Trouble)
	}
	shareLines(line, st, now)
	if h := st.Next; st.Ahead > 0 && h != nil && h.Owner != "" { // those in between are known to their own gateways
		line(cli.Ordinal(1), "%s, waiting for %s", cli.HolderText(h), cli.Age(cli.HeldFor(*h, now)))
	}
	for i, q := range st.Queue {
		line(cli.Ordinal(st.Ahead+i+1), "%s, waiting for %s", cli.HolderText(&q), cli.Age(cli.HeldFor(q, now)))
	}
	return t.Flush()
}

func asOf(t, now time.Time) string {
	if t.IsZero() {
		return "its last write"
	}
	return cli.Age(max(0, now.Sub(t))) + " ago"
}

// shareLines names those who hold a lock together, as many of them as the answer has.
func shareLines(line func(label, format string, args ...any), st client.Status, now time.Time) {
	if st.Holders < 2 {
		return
	}
	for i, s := range st.Shares {
		line(cli.Ordinal(i+1)+" holder", "%s, for %s, fence %d, %s left", cli.HolderText(&s.Holder), cli.Age(cli.HeldFor(s.Holder, now)), s.Fence,
			cli.Duration(s.TTL.Round(100*time.Millisecond)))
	}
	if more := st.Holders - len(st.Shares); more > 0 && len(st.Shares) > 0 {
		line("Others", "%d more hold it", more)
	}
}

func holderLines(line func(label, format string, args ...any), h client.Holder, now time.Time) {
	line("Owner", "%s", cli.Dash(h.Owner))
	if h.Node != "" {
		line("Node", "%s", h.Node)
	}
	if h.PID != 0 {
		line("Process", "pid %d (%s), uid %s", h.PID, h.Command, cli.UIDText(h.UID))
	}
	if by := h.AskedBy; by != nil {
		line("Asked by", "pid %d (%s), uid %s", by.PID, by.Command, cli.UIDText(by.UID))
	}
	if !h.Since.IsZero() {
		line("Since", "%s (%s)", h.Since.Local().Format(time.DateTime), cli.Age(cli.HeldFor(h, now)))
	}
	if h.Note != "" {
		line("Note", "%s", h.Note)
	}
}
