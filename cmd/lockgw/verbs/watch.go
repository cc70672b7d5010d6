package verbs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

// watchOptions say which events are printed, and how.
type watchOptions struct {
	cli.Gateway
	out      cli.Output
	renewals bool
}

// NewWatch is the command `watch`.
func NewWatch() *cobra.Command {
	var o watchOptions
	cmd := &cobra.Command{
		Use:   "watch [NAME|PREFIX*]",
		Short: "Tell what happens to locks, as it happens",
		Long: `Tell what happens to locks on this gateway, a line each: queued, acquired,
jeopardy, lost, released. NAME is one lock, PREFIX* (in quotes) all that begin so;
without either it tells of all. It goes on until Ctrl-C, and ends with exit code 69
when the gateway stops or this command cannot keep up.`,
		Example: `  lockgw watch
  lockgw watch 'reports/*' --json`,
		Args:              cli.UsageArgs(cobra.MaximumNArgs(1)),
		ValidArgsFunction: o.CompleteFirst,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"*"}
			}
			if !strings.HasSuffix(args[0], "*") {
				if err := cli.CheckNames(args[0]); err != nil {
					return err
				}
			}
			return watch(cmd.Context(), &o, args[0], cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	o.AddFlag(f)
	o.out.AddFlag(f)
	f.BoolVar(&o.renewals, "renewals", false, "tell of renewals, too")
	return cmd
}

// watch prints events until there is an error, such as the end of ctx.
func watch(ctx context.Context, o *watchOptions, pattern string, w io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan string)
	c, err := o.Dial(ctx, client.Options{Patience: cli.AnswerTimeout, OnMessage: func(_, payload string) {
		select {
		case events <- payload: // a slow reader of our output holds up the gateway, which then hangs up
		case <-ctx.Done():
		}
	}})
	if err != nil {
		cancel()
		return err
	}
	defer c.Close()
	path, _ := o.Path()
	subscribed := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() { subscribed <- c.Subscribe(ctx, pattern) }) // events may come before its answer is seen
	defer wg.Wait()
	defer cancel() // before anything is waited for
	return o.relay(ctx, c, path, subscribed, events, w)
}

func (o *watchOptions) relay(ctx context.Context, c *client.Client, path string, subscribed <-chan error, events <-chan string, w io.Writer) error {
	unread := cli.Unread(w) // it may be long until the next event
	for {
		select {
		case err := <-subscribed:
			if err != nil {
				return cli.GatewayError(path, err)
			}
			if err := o.head(w); err != nil {
				return err
			}
		case payload := <-events:
			if err := o.tell(w, payload); err != nil {
				return cli.Exit(cli.ExitFailed, fmt.Errorf("write an event: %w", err))
			}
		case <-unread:
			return cli.Exit(cli.ExitSignal+int(syscall.SIGPIPE), nil) // as a write would end it
		case <-c.Done():
			return cli.GatewayError(path, c.Err())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watchLine has the widths of the columns; a wider value shifts the columns after it.
const watchLine = "%-8s  %-9s  %-24s  %-16s  %s\n"

func (o *watchOptions) head(w io.Writer) error {
	if o.out.Format != "table" && o.out.Format != "wide" {
		return nil
	}
	_, err := fmt.Fprintf(w, watchLine, "TIME", "EVENT", "NAME", "FENCE", "WHO")
	return err
}

// told is an event as the gateway sends it.
type told struct {
	Event  session.EventType `json:"event"`
	Time   time.Time         `json:"time"`
	Lock   string            `json:"lock"`
	Owner  string            `json:"owner"`
	Fence  uint64            `json:"fence"`
	Reason string            `json:"reason"`
	Holder *client.Holder    `json:"holder"`
}

// tell prints one event in the form that was asked for.
func (o *watchOptions) tell(w io.Writer, payload string) error {
	var e told
	if err := json.Unmarshal([]byte(payload), &e); err != nil {
		return fmt.Errorf("%q: %w", payload, err)
	}
	if e.Event == session.EventRenewed && !o.renewals {
		return nil
	}
	var err error
	switch o.out.Format {
	case "json":
		_, err = fmt.Fprintln(w, payload)
	case "name":
		_, err = fmt.Fprintln(w, cli.Printable(e.Lock))
	default:
		fence, who := "-", e.Owner
		if e.Holder != nil {
			who = cli.HolderText(e.Holder)
		}
		if e.Fence != 0 {
			fence = fmt.Sprint(e.Fence)
		}
		if e.Reason != "" {
			who += " (" + e.Reason + ")"
		}
		at := e.Time.Local().Format(time.TimeOnly)
		if o.out.Format == "wide" {
			at = e.Time.Local().Format("2006-01-02 15:04:05.000")
		}
		_, err = fmt.Fprintf(w, watchLine, at, e.Event, cli.Printable(e.Lock), fence, cli.Printable(who))
	}
	return err
}
