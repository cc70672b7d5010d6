// Command bench measures lockgw beside the limits of the machine and beside what
// is done without a gateway, and prints one table and the targets that were
// reached or missed.
//
// The figures of one run were measured in turn: every row of a group gets a short
// slice, then every row the next one. A machine's speed drifts, so only the rows
// of one run can be compared, and the ratios are medians over the rounds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// plan is how much is measured.
type plan struct {
	callers []int         // at once, each with a name of its own
	slice   time.Duration // of a row in one round
	rounds  int
	crowd   int           // callers of one name, once each
	pass    int           // hand-offs between two nodes in one round
	holds   int           // locks held at once
	waits   int           // callers that wait at once
	watch   time.Duration // how long holds and waits are watched
	peers   bool          // measure other lock libraries too
	lockgw  string        // path of the program; empty: build it
}

var (
	full = plan{
		callers: []int{1, 32, 256, 1000}, slice: 300 * time.Millisecond, rounds: 5, crowd: 1000, pass: 500,
		holds: 10_000, waits: 10_000, watch: 6 * time.Second,
	}
	quick = plan{
		callers: []int{1, 32}, slice: 80 * time.Millisecond, rounds: 3, crowd: 1000, pass: 60,
		holds: 1000, waits: 1000, watch: 500 * time.Millisecond,
	}
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
	store := flag.String("store", "", "measure this store instead: "+storeNames())
	profile := flag.String("profile", "", "write profiles of a gateway into this directory instead")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	p := full
	if *short {
		p = quick
	}
	p.peers, p.lockgw = *peers, *lockgw
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *profile != "" {
		return profileTo(ctx, out, *profile, p)
	}
	if *store != "" {
		return measureStore(ctx, out, *store, p)
	}
	return run(ctx, out, p)
}

// run measures everything and prints it.
func run(ctx context.Context, out io.Writer, p plan) error {
	return measured(ctx, out, p, func(r *rig, t *table) ([]target, error) {
		for _, group := range []func(context.Context, *rig, plan, *table) error{solo, crowd, passing, idle} {
			if err := group(ctx, r, p, t); err != nil {
				return nil, err
			}
		}
		return targets, nil
	})
}

// measured prints what do measures, also if that fails before it is complete.
func measured(ctx context.Context, out io.Writer, p plan, do func(*rig, *table) ([]target, error)) (err error) {
	r, err := openRig(ctx, p.lockgw)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := r.close(); err == nil {
			err = cerr
		}
	}()
	t := &table{}
	reach, err := do(r, t)
	if err := errors.Join(err, t.print(out)); err != nil {
		return err
	}
	for _, g := range reach {
		fmt.Fprintln(out, g.judge(t))
	}
	return nil
}
