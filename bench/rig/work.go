package rig

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lockgw/lockgw/bench/figures"
)

// Work of this process, which has all callers, of all gateways and of Redis.
func (r *Rig) Work(ctx context.Context) (w figures.Work, err error) {
	for _, p := range r.servers {
		used, err := p.cpu()
		if err != nil {
			return w, err
		}
		switch p.Name {
		case "redis":
			w.Redis = used.Seconds()
		case "echo", "delay", "store":
		default:
			w.Gateways += used.Seconds()
		}
	}
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return w, err
	}
	w.Callers = (time.Duration(own.Utime.Nano()) + time.Duration(own.Stime.Nano())).Seconds()
	w.Commands, w.Scripts, err = r.commands(ctx)
	return w, err
}

func (r *Rig) commands(ctx context.Context) (all, scripts float64, err error) {
	info, err := r.redis.Info(ctx, "commandstats").Result()
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(info) {
		name, stats, ok := strings.Cut(line, ":calls=")
		if !ok || name == "cmdstat_info" {
			continue
		}
		n, _, _ := strings.Cut(stats, ",")
		calls, err := strconv.ParseFloat(n, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("INFO commandstats: line %q: %w", line, err)
		}
		all += calls
		if strings.HasPrefix(name, "cmdstat_eval") {
			scripts += calls
		}
	}
	return all, scripts, nil
}

// PerSecond is the work of each second of the next d.
func (r *Rig) PerSecond(ctx context.Context, d time.Duration) (figures.Work, error) {
	began := time.Now()
	before, err := r.Work(ctx)
	if err != nil {
		return figures.Work{}, err
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return figures.Work{}, ctx.Err()
	}
	after, err := r.Work(ctx)
	return after.Subtract(before).Per(time.Since(began).Seconds()), err
}
