package verbs

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/lockgw/lockgw/api/past"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// contendedRows is how many locks are listed without --all.
const contendedRows = 20

// contended lists the locks, and says on told that it has left some out.
func (o *historyOptions) contended(ctx context.Context, w, told io.Writer) error {
	limit := contendedRows + 1 // one more, to see whether there is one
	if o.all {
		limit = historyPage
	}
	var c past.Contended
	if err := o.Get(ctx, "/v1/history?"+o.query(limit).Encode(), &c); err != nil {
		return err
	}
	switch {
	case o.all && len(c.Items) == limit: // the gateway does not tell of more
		fmt.Fprintf(told, "lockgw: these are the %d locks that were waited for most, and there may be more: "+
			"history NAME shows one, and a shorter --since has fewer\n", limit)
	case !o.all && len(c.Items) == limit:
		c.Items = c.Items[:contendedRows]
		fmt.Fprintf(told, "lockgw: these are the %d locks that were waited for most; history --all lists more\n", contendedRows)
	}
	names := make([]string, 0, len(c.Items))
	for _, item := range c.Items {
		names = append(names, cli.Printable(item.Name))
	}
	return o.out.Write(w, c, names, func() error { return writeContended(w, &c) })
}

func writeContended(w io.Writer, c *past.Contended) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "NAME\tATTEMPTS\tWAITED P50\tP99\tWORST\tHELD P50\tP99\tWORST\tREFUSED\tLOST")
	for _, item := range c.Items {
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\n", cli.Printable(item.Name), item.Attempts,
			cli.Dash(took(item.Waited.P50MS)), cli.Dash(took(item.Waited.P99MS)), cli.Dash(took(item.Waited.WorstMS)),
			cli.Dash(took(item.Held.P50MS)), cli.Dash(took(item.Held.P99MS)), cli.Dash(took(item.Held.WorstMS)), item.Refused, item.Lost)
	}
	return t.Flush()
}

func holderOf(p *past.Person) *client.Holder {
	h := &client.Holder{Owner: string(p.Owner), Node: p.Node, Process: client.Process{PID: p.PID, UID: -1, Command: p.Command}, Note: p.Note}
	if p.UID != nil {
		h.UID = *p.UID
	}
	return h
}
