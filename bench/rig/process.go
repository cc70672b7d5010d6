package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e/process"
)

const (
	startTimeout = time.Minute
	StopTimeout  = 20 * time.Second
)

// Process is a server that was started here and is stopped here, by its pid.
type Process struct{ *process.Process }

// Start runs a server and returns once ready says so.
func Start(ctx context.Context, dir, name string, ready func(context.Context) error, program string, args ...string) (*Process, error) {
	return startAs(ctx, dir, name, ready, exec.Command(program, args...), nil)
}

// startAs is start of a command as another user; nil: as this one.
func startAs(ctx context.Context, dir, name string, ready func(context.Context) error, cmd *exec.Cmd, as *syscall.Credential) (*Process, error) {
	// Its own group, so that Ctrl-C does not end it before it was asked.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: as}
	p, err := process.StartReady(ctx, name, cmd, filepath.Join(dir, name+".log"), startTimeout, ready)
	if err != nil {
		return nil, err
	}
	return &Process{p}, nil
}

// Stop asks the process to end, and kills it if it has not after StopTimeout.
func (p *Process) Stop() error { return p.Process.Stop(StopTimeout) }

// Memory is what the process has in RAM, in bytes.
func (p *Process) Memory() (int64, error) {
	all, _, err := p.Resident()
	return all, err
}

// Resident is memory, and how much of it are pages of files: mostly of the program, of which
// the kernel maps as much as it happens to have in its cache.
func (p *Process) Resident() (all, files int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.Cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	var size int64
	if _, err := fmt.Sscan(string(text), &size, &all, &files); err != nil {
		return 0, 0, fmt.Errorf("statm of %s: %q: %w", p.Name, text, err)
	}
	page := int64(os.Getpagesize())
	return all * page, files * page, nil
}

// cpu is the processor time that the process has used.
func (p *Process) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0, fmt.Errorf("stat of %s: %q", p.Name, text)
	}
	user, err := strconv.ParseInt(f[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(f[12], 10, 64)
	const tick = 10 * time.Millisecond // USER_HZ is 100 on Linux
	return time.Duration(user+system) * tick, err
}
