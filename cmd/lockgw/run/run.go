package run

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/telemetry"
)

// endSignals ask for the end of a command, and of a wait.
var endSignals = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM}

// run acquires, runs and releases.
func run(ctx context.Context, o *options) error {
	r, flush := newReport(os.Stderr, o)
	defer flush()
	haveThreads()
	cli.CatchBrokenPipe() // what cannot be said is no reason to leave the command alone
	path, err := findCommand(o.argv[0])
	if err != nil {
		return r.failed(err)
	}
	if err := o.checkNested(ctx); err != nil {
		return r.failed(err)
	}
	signals := make(chan os.Signal, 16)
	cli.Notify(signals, endSignals...)
	defer signal.Stop(signals)

	spans := telemetry.OpenCommand(ctx, cli.Version())
	defer spans.Close() // last: no lock waits for it
	k, err := startGuardian()
	if err != nil {
		return r.failed(err)
	}
	defer k.Close()
	acquired := spans.Acquire(o.names)
	h, err := acquireOrSignal(ctx, o, r, k, signals)
	acquired(err)
	if unavailable(err) && o.onUnavailable != "fail" {
		k.Close() // what was granted already is not to last as long as the command
		return r.failed(o.withoutLock(r, path, signals, err))
	}
	if err != nil {
		return r.failed(err)
	}
	defer h.close()
	h.traceparent = spans.Traceparent()
	out, err := supervise(o, r, path, k, h, signals)
	if err != nil {
		return r.failed(err)
	}
	if out.code == cli.ExitLost {
		return cli.Exit(out.code, nil) // the end of the guardian gives back the others
	}
	if !out.asked {
		h.keep(o.minHold, signals)
	}
	released := spans.Release()
	h.release(r)
	released(nil)
	return cli.Exit(out.code, nil)
}

// acquireOrSignal gives up waiting when a signal asks for it.
func acquireOrSignal(ctx context.Context, o *options, r *report, k *guardian, signals <-chan os.Signal) (*hold, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		h    *hold
		err  error
		done = make(chan struct{})
	)
	go func() {
		h, err = acquire(ctx, o, r, k)
		close(done)
	}()
	select {
	case <-done:
		return h, err
	case s := <-signals:
		cancel()
		<-done // what was granted just now is given back by the end of the process
		return nil, cli.Exit(cli.ExitSignal+int(s.(syscall.Signal)), nil)
	}
}

// withoutLock is what --on-unavailable says.
func (o *options) withoutLock(r *report, path string, signals chan os.Signal, cause error) error {
	if o.onUnavailable == "skip" {
		r.say(must, event{Event: "skipped", Error: cause.Error()}, "%v; the command is skipped", cause)
		return nil
	}
	r.say(must, event{Event: "unlocked", Error: cause.Error()}, "%v; the command runs WITHOUT the lock", cause)
	k, err := startGuardian()
	if err != nil {
		return err
	}
	defer k.Close()
	h := newHold(o)
	defer h.quit()
	out, err := supervise(o, r, path, k, h, signals)
	if err != nil {
		return err
	}
	return cli.Exit(out.code, nil)
}

// childEnv is env for a command under h. Without locks the variables of an outer lockgw run
// are removed, so that the command does not take that run's locks for its own.
func childEnv(env []string, h *hold) []string {
	locked := len(h.views) > 0
	env = slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(cli.CommandEnv, name) && (locked || name != "LOCKGW_SOCKET") || name == "TRACEPARENT" && h.traceparent != ""
	})
	if !locked {
		return env
	}
	if h.traceparent != "" {
		env = append(env, "TRACEPARENT="+h.traceparent)
	}
	fences := make([]string, len(h.views))
	for i, v := range h.views {
		fences[i] = strconv.FormatUint(v.Fence, 10)
	}
	return append(env,
		"LOCKGW_LOCK="+strings.Join(h.names(), " "),
		"LOCKGW_FENCE="+strings.Join(fences, " "),
		fmt.Sprintf("LOCKGW_OWNER=%s", h.views[0].Owner),
		"LOCKGW_TOKEN="+h.token.Secret(),
		"LOCKGW_SOCKET="+h.socket,
	)
}
