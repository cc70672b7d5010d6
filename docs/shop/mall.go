package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e/process"
)

// mall is a Redis with the shop's stock in it, and the gateways over the same
// Redis. Everything is in a directory of its own and talks over Unix sockets, so
// that it is in nobody's way.
type mall struct {
	dir      string
	redis    *goredis.Client
	servers  []*process.Process // in the order of their start
	gateways []gateway
	callers  []socketLock // their connections
}

type gateway struct {
	socket string // resp.sock
	http   *http.Client
}

// openMall starts a redis-server and n gateways. lockgw is the path of the
// program; if it is empty, the program is built first. Close the mall.
func openMall(ctx context.Context, n int, lockgw string) (*mall, error) {
	dir, err := os.MkdirTemp("", "shop-") // short: the path of a socket has at most 107 bytes
	if err != nil {
		return nil, err
	}
	m := &mall{dir: dir}
	if err := m.open(ctx, n, lockgw); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

func (m *mall) open(ctx context.Context, n int, lockgw string) error {
	if err := m.startRedis(ctx); err != nil {
		return err
	}
	if n > 0 && lockgw == "" {
		lockgw = filepath.Join(m.dir, "lockgw")
		if err := build(ctx, lockgw); err != nil {
			return err
		}
	}
	for i := range n {
		if err := m.startGateway(ctx, fmt.Sprintf("gateway-%d", i+1), lockgw); err != nil {
			return err
		}
	}
	return nil
}

func (m *mall) startRedis(ctx context.Context) error {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return fmt.Errorf("%w: install it with apt-get install redis-server", err)
	}
	socket := m.redisSocket()
	m.redis = goredis.NewClient(&goredis.Options{Network: "unix", Addr: socket})
	ping := func(ctx context.Context) error { return m.redis.Ping(ctx).Err() }
	p, err := start(ctx, m.dir, "redis", ping, program,
		"--port", "0", "--unixsocket", socket, "--dir", m.dir, "--save", "", "--appendonly", "no")
	if err != nil {
		return err
	}
	m.servers = append(m.servers, p)
	return nil
}

func (m *mall) redisSocket() string { return filepath.Join(m.dir, "redis.sock") }

// build makes the program from the source of this module.
func build(ctx context.Context, out string, flags ...string) error {
	args := append([]string{"build", "-buildvcs=false", "-o", out}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "github.com/lockgw/lockgw/cmd/lockgw")...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build lockgw: %w\n%s", err, text)
	}
	return nil
}

// config of a gateway; whatever it does not say has its default.
const config = `node: %[1]s
state_dir: %[2]s/state
http:    {listen: ["127.0.0.1:0"]}
socket:  {dir: %[2]s}
backend: {url: "redis+unix://%[3]s"}
log:     {level: warn}
`

func (m *mall) startGateway(ctx context.Context, name, lockgw string) error {
	dir := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Join(dir, "state"), 0o700); err != nil {
		return err
	}
	file := filepath.Join(dir, "lockgw.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, name, dir, m.redisSocket()), 0o600); err != nil {
		return err
	}
	g := gateway{socket: filepath.Join(dir, "resp.sock"), http: process.Over(filepath.Join(dir, "http.sock"), 1000)} // the callers keep theirs
	ready := func(ctx context.Context) error { return process.Serves(ctx, g.http) }
	p, err := start(ctx, m.dir, name, ready, lockgw, "serve", "--config", file)
	if err != nil {
		return err
	}
	m.servers = append(m.servers, p)
	m.gateways = append(m.gateways, g)
	return nil
}

// locks gives one lock to each of n callers, spread over the gateways; half of
// them use the socket and half HTTP.
func (m *mall) locks(n int) []lock {
	locks := make([]lock, n)
	for i := range locks {
		g := m.gateways[i%len(m.gateways)]
		if i/len(m.gateways)%2 == 0 {
			l := newSocketLock(g.socket)
			m.callers = append(m.callers, l)
			locks[i] = l
		} else {
			locks[i] = &httpLock{client: g.http}
		}
	}
	return locks
}

// close stops what was started, the last first, and removes the directory.
func (m *mall) close() error {
	var errs []error
	for _, l := range m.callers {
		errs = append(errs, l.conn.Close())
	}
	for i := len(m.servers) - 1; i >= 0; i-- {
		errs = append(errs, m.servers[i].Stop(stopTimeout))
	}
	if m.redis != nil {
		errs = append(errs, m.redis.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(m.dir))...)
}
