package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// work is what was done so far, or for one thing: processor time in seconds, and
// commands of Redis, those inside of scripts included.
type work struct {
	callers, gateways, redis float64
	commands, scripts        float64
}

func (w work) add(o work) work {
	return work{w.callers + o.callers, w.gateways + o.gateways, w.redis + o.redis, w.commands + o.commands, w.scripts + o.scripts}
}

func (w work) subtract(o work) work { return w.add(o.per(-1)) }

func (w work) per(n float64) work {
	return work{w.callers / n, w.gateways / n, w.redis / n, w.commands / n, w.scripts / n}
}

// work of this process, which has all callers, of all gateways and of Redis.
func (r *rig) work(ctx context.Context) (w work, err error) {
	for _, p := range r.servers {
		used, err := p.cpu()
		if err != nil {
			return w, err
		}
		switch p.Name {
		case "redis":
			w.redis = used.Seconds()
		case "echo", "delay", "store":
		default:
			w.gateways += used.Seconds()
		}
	}
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return w, err
	}
	w.callers = (time.Duration(own.Utime.Nano()) + time.Duration(own.Stime.Nano())).Seconds()
	w.commands, w.scripts, err = r.commands(ctx)
	return w, err
}

func (r *rig) commands(ctx context.Context) (all, scripts float64, err error) {
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
