// Command shop is a tutorial: a shop that must not oversell. It starts a
// redis-server and some gateways, lets many callers buy by reading the stock and
// writing it back, first without a lock, then with a mutex in each process, then
// with lockgw, and says what came of it. README.md tells the story.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

type options struct {
	stock    int
	callers  int
	gateways int
	lockgw   string // path of the program; empty: build it
}

func main() {
	var o options
	flag.IntVar(&o.stock, "stock", 500, "things to sell in each round")
	flag.IntVar(&o.callers, "callers", 60, "callers that buy, half of them over HTTP and half over the socket")
	flag.IntVar(&o.gateways, "gateways", 2, "gateways on the one Redis, as on so many machines")
	flag.StringVar(&o.lockgw, "lockgw", "", "path of the lockgw program (default: build it)")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := tell(ctx, os.Stdout, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

// tell runs the three rounds and the late write, and prints what came of them.
func tell(ctx context.Context, out io.Writer, o options) (err error) {
	if o.stock < 1 || o.callers < 1 || o.gateways < 1 {
		return fmt.Errorf("-stock %d -callers %d -gateways %d: each must be at least 1", o.stock, o.callers, o.gateways)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	fmt.Fprintf(out, "starting redis-server and %d gateways ...\n", o.gateways)
	m, err := openMall(ctx, o.gateways, o.lockgw)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := m.close(); err == nil {
			err = cerr
		}
	}()

	fmt.Fprintf(out, "%d callers buy until the stock of %d is gone\n\n", o.callers, o.stock)
	var results []result
	for _, step := range []struct {
		name  string
		locks []lock
	}{
		{"no lock", noLocks(o.callers)},
		{"a mutex in each process", mutexes(o.callers, o.gateways)},
		{"lockgw", m.locks(o.callers)},
	} {
		r, err := m.sell(ctx, o.stock, step.locks)
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		r.name = step.name
		results = append(results, r)
	}
	if err := printTable(out, results); err != nil {
		return err
	}

	late, err := m.lateWrite(ctx)
	if err != nil {
		return fmt.Errorf("late write: %w", err)
	}
	fmt.Fprint(out, "\n", late)
	return nil
}

// noLocks lets n callers in at any time.
func noLocks(n int) []lock {
	locks := make([]lock, n)
	for i := range locks {
		locks[i] = openDoor{}
	}
	return locks
}

// mutexes gives n callers the mutex of their process, as if they were spread
// over so many.
func mutexes(n, processes int) []lock {
	own := make([]sync.Mutex, processes)
	locks := make([]lock, n)
	for i := range locks {
		locks[i] = mutex{&own[i%processes]}
	}
	return locks
}
