// Package rig starts and stops what is measured, and what shows the limits of the machine:
// servers and gateways, each a process of its own, whose work and size the kernel tells.
package rig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Rig is what is measured: a redis-server, gateways, and what shows the limits.
// Each is a process of its own, as it would be in use.
type Rig struct {
	Dir     string
	redis   *goredis.Client // to look into Redis
	Addr    string          // of Redis, host:port
	Far     string          // the same with 1 ms on the way
	Echo    string          // socket of a server that answers with what it got
	Web     string          // socket of an HTTP server that has nothing to do
	servers []*Process      // in the order of their start, Redis first
	lockgw  string          // path of the program
	Started int             // gateways that came and went

	Memory, First, Second, Distant *Gateway // over memory, Redis twice, and far Redis
	Keeper                         *Gateway // over Redis, with fairness.retain
	Third, Fourth                  *Gateway // over another store, if that is measured
}

// Gateway is one lockgw process.
type Gateway struct {
	*Process
	RESP, HTTP string // paths of its sockets
	state      string // directory
}

// delay of the way to the far Redis, there and back.
const delay = time.Millisecond

// Open starts Redis alone.
func Open(ctx context.Context, lockgw string) (*Rig, error) {
	dir, err := os.MkdirTemp("", "bench-") // short: the path of a socket has at most 107 bytes
	if err != nil {
		return nil, err
	}
	r := &Rig{Dir: dir, lockgw: lockgw}
	if err := r.open(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Rig) open(ctx context.Context) (err error) {
	if r.lockgw == "" {
		r.lockgw = filepath.Join(r.Dir, "lockgw")
		if err := build(ctx, r.lockgw); err != nil {
			return err
		}
	}
	return r.startRedis(ctx)
}

// StartAll starts what the tables compare: what shows the limits, and five gateways.
func (r *Rig) StartAll(ctx context.Context) (err error) {
	if err := r.startRoles(ctx); err != nil {
		return err
	}
	for _, g := range []struct {
		name, url string
		to        **Gateway
		flags     []string
	}{
		{"memory", "memory://", &r.Memory, nil},
		{"first", "redis://" + r.Addr, &r.First, nil},
		{"second", "redis://" + r.Addr, &r.Second, nil},
		{"distant", "redis://" + r.Far, &r.Distant, nil},
		{"keeper", "redis://" + r.Addr, &r.Keeper, []string{"--fairness-retain", "1s"}},
	} {
		if *g.to, err = r.StartGateway(ctx, g.name, g.url, g.flags...); err != nil {
			return err
		}
	}
	return nil
}

// build makes the program from the source beside this module, as deploy/program.sh does it for
// others.
func build(ctx context.Context, out string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", "nomsgpack", "-ldflags", "-s -w", "-o", out, "./cmd/lockgw")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/lockgw/lockgw").Output()
	if err != nil {
		return fmt.Errorf("find the source of lockgw (run this in its bench directory): %w", err)
	}
	cmd.Dir = strings.TrimSpace(string(root))
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build lockgw: %w\n%s", err, text)
	}
	return nil
}

// RedisClient is a client of Redis as its users have it, but for the novelties of RESP3.
func RedisClient(addr string) *goredis.Client {
	return goredis.NewClient(&goredis.Options{
		Addr: addr, Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

func (r *Rig) startRedis(ctx context.Context) (err error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return fmt.Errorf("%w: install it with apt-get install redis-server", err)
	}
	if r.Addr, err = FreeAddr(); err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(r.Addr)
	r.redis = RedisClient(r.Addr)
	ping := func(ctx context.Context) error { return r.redis.Ping(ctx).Err() }
	return r.Start(ctx, "redis", ping, program, "--bind", "127.0.0.1", "--port", port, "--dir", r.Dir, "--save", "", "--appendonly", "no")
}

// startRoles starts this program again as the servers that are not lockgw's.
func (r *Rig) startRoles(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r.Echo = filepath.Join(r.Dir, "echo.sock")
	if err := r.Start(ctx, "echo", Accepts("unix", r.Echo), self, "echo", r.Echo); err != nil {
		return err
	}
	r.Web = filepath.Join(r.Dir, "web.sock")
	if err := r.Start(ctx, "web", Accepts("unix", r.Web), self, "web", r.Web); err != nil {
		return err
	}
	if r.Far, err = FreeAddr(); err != nil {
		return err
	}
	return r.Start(ctx, "delay", Accepts("tcp", r.Far), self, "delay", r.Far, r.Addr, delay.String())
}

// Close stops what was started, the last first, and removes the directory.
func (r *Rig) Close() error {
	var errs []error
	for i := len(r.servers) - 1; i >= 0; i-- {
		errs = append(errs, r.servers[i].Stop())
	}
	if r.redis != nil {
		errs = append(errs, r.redis.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(r.Dir))...)
}

// URLs are of the stores over which the limits are measured.
func (r *Rig) URLs() []string { return []string{"memory://", "redis://" + r.Addr} }

// Another starts a gateway over a Redis that is empty.
func (r *Rig) Another(ctx context.Context, url string, flags ...string) (*Gateway, error) {
	if err := r.redis.FlushAll(ctx).Err(); err != nil {
		return nil, err
	}
	r.Started++
	return r.StartGateway(ctx, "limits"+strconv.Itoa(r.Started), url, flags...)
}

// Scheme is the beginning of a URL, up to the slashes.
func Scheme(url string) string { return url[:strings.Index(url, "//")+2] }
