package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e/process"
)

const (
	startTimeout = time.Minute
	stopTimeout  = 10 * time.Second
)

// start runs a server and returns when ready says so. What it writes goes to a file in dir.
func start(ctx context.Context, dir, name string, ready func(context.Context) error, program string, args ...string) (*process.Process, error) {
	return process.StartReady(ctx, name, exec.Command(program, args...), filepath.Join(dir, name+".log"), startTimeout, ready)
}
