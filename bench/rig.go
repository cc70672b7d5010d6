package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// rig is what is measured: a redis-server, gateways, and what shows the limits.
// Each is a process of its own, as it would be in use.
type rig struct {
	dir     string
	redis   *goredis.Client // to look into Redis
	addr    string          // of Redis, host:port
	far     string          // the same with 1 ms on the way
	echo    string          // socket of a server that answers with what it got
	servers []*process      // in the order of their start, Redis first
	lockgw  string          // path of the program
	started int             // gateways that came and went

	memory, first, second, distant *gateway // over memory, Redis twice, and far Redis
	third, fourth                  *gateway // over another store, if that is measured
}

// gateway is one lockgw process.
type gateway struct {
	*process
	resp, http string // paths of its sockets
	state      string // directory
}

// delay of the way to the far Redis, there and back.
const delay = time.Millisecond

// openRig starts Redis alone.
func openRig(ctx context.Context, lockgw string) (*rig, error) {
	dir, err := os.MkdirTemp("", "bench-") // short: the path of a socket has at most 107 bytes
	if err != nil {
		return nil, err
	}
	r := &rig{dir: dir, lockgw: lockgw}
	if err := r.open(ctx); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *rig) open(ctx context.Context) (err error) {
	if r.lockgw == "" {
		r.lockgw = filepath.Join(r.dir, "lockgw")
		if err := build(ctx, r.lockgw); err != nil {
			return err
		}
	}
	return r.startRedis(ctx)
}

// startAll starts what the tables compare: what shows the limits, and four gateways.
func (r *rig) startAll(ctx context.Context) (err error) {
	if err := r.startRoles(ctx); err != nil {
		return err
	}
	for _, g := range []struct {
		name, url string
		to        **gateway
	}{
		{"memory", "memory://", &r.memory},
		{"first", "redis://" + r.addr, &r.first},
		{"second", "redis://" + r.addr, &r.second},
		{"distant", "redis://" + r.far, &r.distant},
	} {
		if *g.to, err = r.startGateway(ctx, g.name, g.url); err != nil {
			return err
		}
	}
	return nil
}

// build makes the program from the source beside this module.
func build(ctx context.Context, out string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", out, "./cmd/lockgw")
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

// redisClient is a client of Redis as its users have it, but for the novelties of RESP3.
func redisClient(addr string) *goredis.Client {
	return goredis.NewClient(&goredis.Options{
		Addr: addr, Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

func (r *rig) startRedis(ctx context.Context) (err error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return fmt.Errorf("%w: install it with apt-get install redis-server", err)
	}
	if r.addr, err = freeAddr(); err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(r.addr)
	r.redis = redisClient(r.addr)
	ping := func(ctx context.Context) error { return r.redis.Ping(ctx).Err() }
	return r.start(ctx, "redis", ping, program, "--bind", "127.0.0.1", "--port", port, "--dir", r.dir, "--save", "", "--appendonly", "no")
}

// startRoles starts this program again as the servers that are not lockgw's.
func (r *rig) startRoles(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r.echo = filepath.Join(r.dir, "echo.sock")
	if err := r.start(ctx, "echo", accepts("unix", r.echo), self, "echo", r.echo); err != nil {
		return err
	}
	if r.far, err = freeAddr(); err != nil {
		return err
	}
	return r.start(ctx, "delay", accepts("tcp", r.far), self, "delay", r.far, r.addr, delay.String())
}

func (r *rig) start(ctx context.Context, name string, ready func(context.Context) error, program string, args ...string) error {
	return r.startAs(ctx, name, ready, exec.Command(program, args...), nil)
}

func (r *rig) startAs(ctx context.Context, name string, ready func(context.Context) error, cmd *exec.Cmd, as *syscall.Credential) error {
	p, err := startAs(ctx, r.dir, name, ready, cmd, as)
	if err != nil {
		return err
	}
	r.servers = append(r.servers, p)
	return nil
}

// config of a gateway; whatever it does not say has its default.
const config = `node: %[1]s
state_dir: %[2]s/state
http:    {listen: ["127.0.0.1:0"]}
socket:  {dir: %[2]s}
backend: {url: "%[3]s"}
log:     {level: warn}
`

// startGateway starts a gateway that all users of the machine may use; flags are further
// ones of its own.
func (r *rig) startGateway(ctx context.Context, name, url string, flags ...string) (*gateway, error) {
	g, args, err := r.prepare(name, url, flags...)
	if err != nil {
		return nil, err
	}
	if err := r.start(ctx, name, accepts("unix", g.resp), r.lockgw, args...); err != nil {
		return nil, err
	}
	g.process = r.servers[len(r.servers)-1]
	return g, nil
}

// prepare makes the directories and the configuration of a gateway, and its arguments.
func (r *rig) prepare(name, url string, flags ...string) (g *gateway, args []string, err error) {
	dir := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Join(dir, "state"), 0o700); err != nil {
		return nil, nil, err
	}
	for _, d := range []string{r.dir, dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			return nil, nil, err
		}
	}
	file := filepath.Join(dir, "lockgw.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, name, dir, url), 0o600); err != nil {
		return nil, nil, err
	}
	g = &gateway{resp: filepath.Join(dir, "resp.sock"), http: filepath.Join(dir, "http.sock"), state: filepath.Join(dir, "state")}
	return g, append([]string{"serve", "--config", file, "--socket-mode", "0666"}, flags...), nil
}

func (r *rig) stopGateway(g *gateway) error {
	r.servers = slices.DeleteFunc(r.servers, func(p *process) bool { return p == g.process })
	return g.stop()
}

// accepts tells whether somebody listens.
func accepts(network, addr string) func(context.Context) error {
	return func(ctx context.Context) error {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return err
		}
		return c.Close()
	}
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// close stops what was started, the last first, and removes the directory.
func (r *rig) close() error {
	var errs []error
	for i := len(r.servers) - 1; i >= 0; i-- {
		errs = append(errs, r.servers[i].stop())
	}
	if r.redis != nil {
		errs = append(errs, r.redis.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(r.dir))...)
}
