// Command bench measures lockgw beside the limits of the machine and beside what
// is done without a gateway, and prints one table and the targets that were
// reached or missed.
//
// The figures of one run were measured in turn: every row of a group gets a short
// slice, then every row the next one. A machine's speed drifts, so only the rows
// of one run can be compared, and the ratios are medians over the rounds.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/lockgw/lockgw/bench/figures"
	"github.com/lockgw/lockgw/bench/limits"
	"github.com/lockgw/lockgw/bench/rig"
	"github.com/lockgw/lockgw/bench/stores"
)

func main() {
	var err error
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		err = play(os.Args[1:])
	} else {
		err = measure(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measure is what a user runs; play is for the processes that it starts.
func measure(out io.Writer) error {
	short := flag.Bool("quick", false, "less of everything, for a run of less than 30 s")
	peers := flag.Bool("peers", false, "measure redsync and rueidislock too")
	lockgw := flag.String("lockgw", "", "path of the lockgw program (default: build it)")
	store := flag.String("store", "", "measure this store instead: "+stores.Names())
	var what limits.Part
	flag.Var(&what, "limits", "measure the limits and the cost at rest instead; -limits=PART for one of "+limits.PartNames())
	attacks := flag.Bool("attacks", false, "the same as -limits=attacks")
	names := flag.Int("names", 0, "how many names -limits uses once each (default: 1,000,000, or 20,000 with -quick)")
	profile := flag.String("profile", "", "write profiles of a gateway into this directory instead")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	p := rig.Full
	if *short {
		p = rig.Quick
	}
	p.Peers, p.Lockgw = *peers, *lockgw
	p.Names = cmp.Or(*names, p.Names)
	if *attacks {
		what = "attacks"
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *profile != "" {
		return profileTo(ctx, out, *profile, p)
	}
	if what != "" {
		return limits.Measure(ctx, out, what, p)
	}
	if *store != "" {
		return stores.Measure(ctx, out, *store, p)
	}
	return run(ctx, out, p)
}

// run measures everything and prints it.
func run(ctx context.Context, out io.Writer, p rig.Plan) error {
	return rig.Measure(ctx, out, p, func(r *rig.Rig, t *figures.Table) ([]figures.Target, error) {
		if err := r.StartAll(ctx); err != nil {
			return nil, err
		}
		for _, group := range []func(context.Context, *rig.Rig, rig.Plan, *figures.Table) error{solo, crowd, passing, idle} {
			if err := group(ctx, r, p, t); err != nil {
				return nil, err
			}
		}
		return targets, nil
	})
}
