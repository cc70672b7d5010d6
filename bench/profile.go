package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/breaker"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/bench/callers"
	"github.com/lockgw/lockgw/bench/figures"
	"github.com/lockgw/lockgw/bench/rig"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket"
)

// profileTo writes, for each store and each kind of load over the socket, a
// processor and an allocation profile of a gateway, and prints what a pair of LOCK
// and UNLOCK allocates.
func profileTo(ctx context.Context, out io.Writer, dir string, p rig.Plan) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	r, err := rig.Open(ctx, p.Lockgw)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for _, url := range []string{"memory://", "redis://" + r.Addr} {
		for _, load := range []struct {
			name string
			n    int
			lock func(int) string
		}{{"alone-1", 1, callers.Own}, {"alone-32", 32, callers.Own}, {"crowd", 100, callers.One}} {
			name := strings.TrimSuffix(rig.Scheme(url), "://") + "-" + load.name
			said, err := profile(ctx, r, filepath.Join(dir, name), url, load.n, load.lock, 10*p.Slice)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			fmt.Fprintf(out, "%-16s %s\n", name, said)
		}
	}
	return nil
}

func profile(ctx context.Context, r *rig.Rig, prefix, url string, n int, lock func(int) string, d time.Duration) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	path := filepath.Join(r.Dir, filepath.Base(prefix)+".sock")
	p, err := rig.Start(ctx, r.Dir, filepath.Base(prefix), rig.Accepts("unix", path), self, "gateway", path, url, prefix)
	if err != nil {
		return "", err
	}
	c, err := callers.SocketPairs(lock, &rig.Gateway{Process: p, RESP: path})(n)
	if err != nil {
		return "", errors.Join(err, p.Stop())
	}
	s, err := callers.Load(c, d)
	err = errors.Join(err, c.Close(), p.Stop())
	if err != nil {
		return "", err
	}
	var count, size float64
	if _, err := fmt.Sscan(p.Said(), &count, &size); err != nil {
		return "", fmt.Errorf("what the gateway printed: %w\n%s", err, p.Said())
	}
	pairs := float64(s.Ops)
	return fmt.Sprintf("%7.0f pairs/s, p50 %s us, %.1f allocations and %.0f bytes per pair", s.Rate, figures.Micros(s.P50), count/pairs, size/pairs), nil
}

// serveProfiled is a gateway without HTTP. It writes prefix.cpu and prefix.allocs,
// and prints how often and how much it has allocated.
func serveProfiled(path, url, prefix string) error {
	runtime.MemProfileRate = 64 << 10 // 4 KiB would cost a tenth of the time
	const node = "profiled"
	var store ledger.Table = memory.OpenTable(memory.NewRows(), node)
	if url != "memory://" {
		var err error
		if store, err = redis.OpenTable(redis.Config{URL: url, Node: backend.Node{ID: node}}); err != nil {
			return err
		}
	}
	defer store.Close()
	m := session.New(breaker.New(store, store.Ping, slog.New(slog.DiscardHandler)), session.Config{Node: node})
	ln, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	s := socket.NewServer(socket.Config{Manager: m})
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	if err := profiled(prefix, rig.AwaitSignal); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), rig.StopTimeout/2)
	defer cancel()
	return errors.Join(m.Close(ctx), s.Shutdown(ctx), <-served)
}

// profiled runs f and writes the profiles of it.
func profiled(prefix string, f func()) error {
	cpu, err := os.Create(prefix + ".cpu")
	if err != nil {
		return err
	}
	defer cpu.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return err
	}
	f()
	pprof.StopCPUProfile()
	runtime.ReadMemStats(&after)
	fmt.Println(after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc)
	allocs, err := os.Create(prefix + ".allocs")
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(allocs, 0), allocs.Close())
}
