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
	rest    time.Duration // how long a gateway at rest is watched: a round of renewals or more
	starts  int           // of a gateway, to see how long one takes
	many    int           // names held at once and sessions at once, on one gateway
	crowds  int           // callers that wait on one gateway, if the files suffice
	names   int           // that are used once
	settle  time.Duration // after them: until the store has forgotten the last one
	peers   bool          // measure other lock libraries too
	lockgw  string        // path of the program; empty: build it
}

var (
	full = plan{
		callers: []int{1, 32, 256, 1000}, slice: 300 * time.Millisecond, rounds: 5, crowd: 1000, pass: 500,
		holds: 10_000, waits: 10_000, watch: 6 * time.Second, rest: 30 * time.Second, starts: 11,
		many: 100_000, crowds: 50_000, names: 1_000_000, settle: 75 * time.Second,
	}
	quick = plan{
		callers: []int{1, 32}, slice: 80 * time.Millisecond, rounds: 3, crowd: 1000, pass: 60,
		holds: 1000, waits: 1000, watch: 500 * time.Millisecond, rest: 11 * time.Second, starts: 3,
		many: 2000, crowds: 2000, names: 20_000, settle: time.Second,
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
	var what part
	flag.Var(&what, "limits", "measure the limits and the cost at rest instead; -limits=PART for one of "+partNames())
	attacks := flag.Bool("attacks", false, "the same as -limits=attacks")
	names := flag.Int("names", 0, "how many names -limits uses once each (default: 1,000,000, or 20,000 with -quick)")
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
	p.names = cmp.Or(*names, p.names)
	if *attacks {
		what = "attacks"
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *profile != "" {
		return profileTo(ctx, out, *profile, p)
	}
	if what != "" {
		return measureLimits(ctx, out, what, p)
	}
	if *store != "" {
		return measureStore(ctx, out, *store, p)
	}
	return run(ctx, out, p)
}

// run measures everything and prints it.
func run(ctx context.Context, out io.Writer, p plan) error {
	return measured(ctx, out, p, func(r *rig, t *table) ([]target, error) {
		if err := r.startAll(ctx); err != nil {
			return nil, err
		}
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
