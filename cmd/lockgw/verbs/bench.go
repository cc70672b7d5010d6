package verbs

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// benchOptions are the flags of `lockgw bench`.
type benchOptions struct {
	cli.Gateway
	callers int
	length  time.Duration
	format  string
}

const maxBenchCallers = 1000

// NewBench is the command `bench`.
func NewBench() *cobra.Command {
	o := &benchOptions{format: "table", callers: 8, length: 2 * time.Second}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what a lock costs through this gateway",
		Long: `Measure what a lock costs through this gateway and its store: round trips that do
nothing, then pairs of lock and unlock by callers that each have a name of their own, then by
callers who all want the same one. The names begin with bench- and are used by nobody else.`,
		Args: cli.UsageArgs(cli.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.callers < 1 || o.callers > maxBenchCallers {
				return cli.Usagef("--callers: must be between 1 and %d", maxBenchCallers)
			}
			rows, err := o.measure(cmd.Context())
			if err != nil {
				path, _ := o.Path() // measure has used it
				return cli.GatewayError(path, err)
			}
			if o.format == "json" {
				return cli.WriteJSON(cmd.OutOrStdout(), rows)
			}
			return writeBench(cmd.OutOrStdout(), rows)
		},
	}
	o.AddFlag(cmd.Flags())
	cmd.Flags().IntVar(&o.callers, "callers", o.callers, "connections that ask at the same time")
	cli.PositiveVar(cmd.Flags(), &o.length, "for", "how long each of the three is measured")
	cli.FormatVar(cmd.Flags(), &o.format, "table", "json")
	return cmd
}

// benchRow is one thing measured.
type benchRow struct {
	What      string  `json:"what"`
	Callers   int     `json:"callers"`
	Done      int     `json:"done"`
	PerSecond float64 `json:"per_second"`
	P50       float64 `json:"p50_us"`
	P99       float64 `json:"p99_us"`
}

func (o *benchOptions) measure(ctx context.Context) ([]benchRow, error) {
	base := "bench-" + rand.Text()[:8]
	pair := func(ctx context.Context, c *client.Client, name string) error {
		if _, err := c.Lock(ctx, name, client.LockOptions{Wait: time.Minute}); err != nil {
			return err
		}
		_, err := c.Unlock(ctx, name, client.UnlockOptions{})
		return err
	}
	var rows []benchRow
	for _, m := range []struct {
		what string
		do   func(ctx context.Context, c *client.Client, caller int) error
	}{
		{"round trip", func(ctx context.Context, c *client.Client, _ int) error { _, err := c.Do(ctx, "PING"); return err }},
		{"lock and unlock, a name for each", func(ctx context.Context, c *client.Client, i int) error {
			return pair(ctx, c, fmt.Sprintf("%s-%d", base, i))
		}},
		{"lock and unlock, one name for all", func(ctx context.Context, c *client.Client, _ int) error {
			return pair(ctx, c, base)
		}},
	} {
		took, length, err := o.contend(ctx, m.do)
		if err != nil {
			return nil, err
		}
		rows = append(rows, newBenchRow(m.what, o.callers, took, length))
	}
	return rows, nil
}

// contend has all callers do what they do again and again until the time is over.
func (o *benchOptions) contend(ctx context.Context, do func(context.Context, *client.Client, int) error) (took []time.Duration, length time.Duration, err error) {
	clients := make([]*client.Client, o.callers)
	for i := range clients {
		if clients[i], err = o.Dial(ctx, client.Options{Patience: cli.AnswerTimeout}); err != nil {
			return nil, 0, err
		}
		defer clients[i].Close()
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	began := time.Now()
	for i, c := range clients {
		wg.Go(func() {
			var own []time.Duration
			var failed error
			for last := began; failed == nil && last.Sub(began) < o.length; {
				failed = do(ctx, c, i)
				now := time.Now()
				own, last = append(own, now.Sub(last)), now
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, own...)
			if err == nil {
				err = failed
			}
		})
	}
	wg.Wait()
	return took, time.Since(began), err
}

func newBenchRow(what string, callers int, took []time.Duration, length time.Duration) benchRow {
	slices.Sort(took)
	at := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))].Microseconds()) }
	return benchRow{what, callers, len(took), float64(len(took)) / length.Seconds(), at(0.5), at(0.99)}
}

func writeBench(w io.Writer, rows []benchRow) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tcallers\ta second\tp50 us\tp99 us\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%d\t%.0f\t%.0f\t%.0f\t\n", r.What, r.Callers, r.PerSecond, r.P50, r.P99)
	}
	return t.Flush()
}
