package verbs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/api/past"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

// historyOptions say how far back to look.
type historyOptions struct {
	cli.Gateway
	out   cli.Output
	since time.Duration
	all   bool // of that time
	ever  bool // whatever since is
}

// historyRows is how many attempts are shown without --all.
const historyRows = 50

// historyPage is how much of a history the gateway answers with at once.
const historyPage = 1000

// NewHistory is the command `history`.
func NewHistory() *cobra.Command {
	o := historyOptions{since: 24 * time.Hour}
	cmd := &cobra.Command{
		Use:   "history [NAME]",
		Short: "Show why a job was late: who asked for a lock, waited, held it, and how that ended",
		Long: `Show how the callers of this gateway came to a lock: when each asked, behind whom it
waited, how long it held the lock and how that ended; the newest last. Each gateway
keeps a history of its own callers (history.keep, history.max_size). Of the holders on
other machines it knows what those who waited here were told.

Without NAME it lists the locks that were waited for most: 20, with --all up to 1000.`,
		Example: `  lockgw history nightly
  lockgw history nightly --since 7d -o json
  lockgw history`,
		Args:              cli.UsageArgs(cobra.MaximumNArgs(1)),
		ValidArgsFunction: o.CompleteFirst,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckNames(args...); err != nil {
				return err
			}
			typed := cmd.Flags().Changed("since") && !cli.FromEnv(cmd.Flags(), "since")
			o.ever = o.all && !typed
			if len(args) == 0 {
				return o.contended(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			return o.show(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
	f := cmd.Flags()
	o.AddFlag(f)
	o.out.AddFlag(f)
	cli.PositiveVar(f, &o.since, "since", "how far back to look")
	f.BoolVar(&o.all, "all", false, "show all, however much, and however old unless --since is given")
	return cmd
}

func (o *historyOptions) query(limit int) url.Values {
	q := url.Values{"limit": {strconv.Itoa(limit)}}
	if o.ever {
		q.Set("all", "true")
	} else {
		q.Set("since", o.since.String())
	}
	return q
}

// show asks for as many pages as are wanted, and puts them together.
func (o *historyOptions) show(ctx context.Context, w io.Writer, name string) error {
	limit := historyRows
	if o.all || o.out.Format == "json" {
		limit = historyPage
	}
	q := o.query(limit)
	var h past.History
	for {
		var page past.History
		if err := o.Get(ctx, "/v1/locks/"+url.PathEscape(name)+"/history?"+q.Encode(), &page); err != nil {
			return err
		}
		items := append(h.Items, page.Items...)
		if len(h.Items) == 0 {
			h = page
		}
		h.Items, h.Next = items, page.Next
		if !o.all || page.Next == "" {
			break
		}
		q.Set("cursor", page.Next)
	}
	return o.out.Write(w, h, []string{cli.Printable(name)}, func() error { return o.write(w, &h) })
}

func (o *historyOptions) write(w io.Writer, h *past.History) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprint(t, "ASKED\tWAITED\tHELD\tOUTCOME\tWHO\tBEHIND")
	if o.out.Format == "wide" {
		fmt.Fprint(t, "\tFENCE\tOWNER")
	}
	fmt.Fprintln(t)
	for i := len(h.Items) - 1; i >= 0; i-- { // as in a log
		a := &h.Items[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s", clock(cmp.Or(a.Asked, a.Granted)), cli.Dash(took(a.WaitedMS)), cli.Dash(heldText(a)), outcomeText(a), personText(&a.Person, h.Node), cli.Dash(behindText(a, h.Node)))
		if o.out.Format == "wide" {
			fmt.Fprintf(t, "\t%s\t%s", cli.Dash(fenceText(a.Fence)), cli.Printable(string(a.Owner)))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return writeFoot(w, h)
}

// writeFoot writes the totals of the rows, and says what is not among them.
func writeFoot(w io.Writer, h *past.History) error {
	n := &h.Totals
	since := "of all that is kept"
	if !h.Since.IsZero() {
		since = "since " + clock(h.Since)
	}
	lines := []string{fmt.Sprintf("%s on %s %s: waited %s, held %s", count(n.Attempts, "attempt"), h.Node, since, quantityText(&n.Waited), quantityText(&n.Held))}
	if n.Refused+n.Lost > 0 {
		lines = append(lines, fmt.Sprintf("%d refused or given up, %d lost or broken", n.Refused, n.Lost))
	}
	if h.Counted > 0 {
		lines = append(lines, fmt.Sprintf("%d of them were soon over, or too many, and are only counted", h.Counted))
	}
	if h.Next != "" {
		lines = append(lines, "older ones are not shown; --all shows them")
	}
	if h.Dropped > 0 {
		lines = append(lines, fmt.Sprintf("%d steps of locks could not be kept; the log of the gateway says more", h.Dropped))
	}
	if h.Oldest.IsZero() {
		lines = append(lines, "nothing is kept yet")
	}
	_, err := fmt.Fprintln(w, cli.Printable(strings.Join(lines, "; ")))
	return err
}
