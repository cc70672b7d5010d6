// Package process starts servers and stops them again, by their process ids, and asks gateways
// whether they serve. What a server writes goes to a file, which an error about it shows.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Process is a server that was started here and is stopped here.
type Process struct {
	Name string
	Cmd  *exec.Cmd

	log  string
	done chan struct{} // closed when it has ended
}

// Start starts cmd, whose output is added to the file log.
func Start(name string, cmd *exec.Cmd, log string) (*Process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the child has its own descriptor
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &Process{Name: name, Cmd: cmd, log: log, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is of interest only if nobody stopped it: see the log
		close(p.done)
	}()
	return p, nil
}

// StartReady is Start, and returns when ready says so. A server that ends before, or is not
// ready within patience, is an error that shows what it wrote, and is stopped.
func StartReady(ctx context.Context, name string, cmd *exec.Cmd, log string, patience time.Duration, ready func(context.Context) error) (*Process, error) {
	p, err := Start(name, cmd, log)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := p.Await(ctx, ready); err != nil {
		return nil, errors.Join(err, p.Stop(patience))
	}
	return p, nil
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Await asks ready again and again, as there is nothing to wait on in a server that may
// not even have opened its socket. A server that ends before it is ready is an error.
func (p *Process) Await(ctx context.Context, ready func(context.Context) error) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.done:
			return fmt.Errorf("%s ended before it was ready:\n%s", p.Name, p.Said())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", p.Name, err, p.Said())
		}
	}
}

// Said is what it has written.
func (p *Process) Said() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Signal sends s, if there is still somebody to hear it.
func (p *Process) Signal(s os.Signal) { _ = p.Cmd.Process.Signal(s) }

// Stop asks the process to end, and kills it if it has not after patience, which is an
// error.
func (p *Process) Stop(patience time.Duration) error {
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.Name, err)
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(patience):
	}
	p.Kill()
	return fmt.Errorf("%s did not stop within %v and was killed:\n%s", p.Name, patience, p.Said())
}

// Kill is kill -9. It returns when the process is gone.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill() // fails only when it is gone already
	<-p.done
}
