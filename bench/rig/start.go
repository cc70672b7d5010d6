package rig

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e/process"
)

// Pause waits, unless ctx is done first.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TimedStart starts a gateway and says how long it took until /readyz was 200.
func (r *Rig) TimedStart(ctx context.Context, url string) (took time.Duration, g *Gateway, err error) {
	r.Started++
	name := "start" + strconv.Itoa(r.Started)
	g, args, err := r.prepare(name, url)
	if err != nil {
		return 0, nil, err
	}
	client := process.Over(g.HTTP, 0)
	began := time.Now()
	// It asks each millisecond for a while, and then lets the process be looked at.
	ready := func(ctx context.Context) (err error) {
		for range 1000 {
			if err = process.Serves(ctx, client); err == nil {
				took = time.Since(began)
				return nil
			}
			if err := Pause(ctx, time.Millisecond); err != nil {
				return err
			}
		}
		return err
	}
	g.Process, err = startAs(ctx, r.Dir, name, ready, exec.Command(r.lockgw, args...), nil)
	if err != nil {
		return 0, nil, err
	}
	r.servers = append(r.servers, g.Process)
	return took, g, nil
}

// Start runs a server that the rig stops, and returns once ready says so.
func (r *Rig) Start(ctx context.Context, name string, ready func(context.Context) error, program string, args ...string) error {
	return r.StartAs(ctx, name, ready, exec.Command(program, args...), nil)
}

// StartAs is Start of a command as another user; nil: as this one.
func (r *Rig) StartAs(ctx context.Context, name string, ready func(context.Context) error, cmd *exec.Cmd, as *syscall.Credential) error {
	p, err := startAs(ctx, r.Dir, name, ready, cmd, as)
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

// StartGateway starts a gateway that all users of the machine may use; flags are further
// ones of its own.
func (r *Rig) StartGateway(ctx context.Context, name, url string, flags ...string) (*Gateway, error) {
	g, args, err := r.prepare(name, url, flags...)
	if err != nil {
		return nil, err
	}
	if err := r.Start(ctx, name, open(g.RESP), r.lockgw, args...); err != nil {
		return nil, err
	}
	g.Process = r.servers[len(r.servers)-1]
	return g, nil
}

// prepare makes the directories and the configuration of a gateway, and its arguments.
func (r *Rig) prepare(name, url string, flags ...string) (g *Gateway, args []string, err error) {
	dir := filepath.Join(r.Dir, name)
	if err := os.MkdirAll(filepath.Join(dir, "state"), 0o700); err != nil {
		return nil, nil, err
	}
	for _, d := range []string{r.Dir, dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			return nil, nil, err
		}
	}
	file := filepath.Join(dir, "lockgw.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, name, dir, url), 0o600); err != nil {
		return nil, nil, err
	}
	g = &Gateway{RESP: filepath.Join(dir, "resp.sock"), HTTP: filepath.Join(dir, "http.sock"), state: filepath.Join(dir, "state")}
	return g, append([]string{"serve", "--config", file, "--socket-mode", "0666"}, flags...), nil
}

// StopGateway stops g and forgets it.
func (r *Rig) StopGateway(g *Gateway) error {
	r.servers = slices.DeleteFunc(r.servers, func(p *Process) bool { return p == g.Process })
	return g.Stop()
}

// Accepts tells whether somebody listens.
func Accepts(network, addr string) func(context.Context) error {
	return func(ctx context.Context) error {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return err
		}
		return c.Close()
	}
}

// open tells whether everybody can connect to a gateway's socket: it is made closed, and then
// opened, and to root it never is closed.
func open(path string) func(context.Context) error {
	accepts := Accepts("unix", path)
	return func(ctx context.Context) error {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return err
		case info.Mode().Perm()&0o002 == 0:
			return fmt.Errorf("%s is not open yet", path)
		default:
			return accepts(ctx)
		}
	}
}

// FreeAddr is an address on loopback at which nobody listens.
func FreeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
