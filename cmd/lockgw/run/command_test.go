package run

import (
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// -n and a wait contradict each other, unless one of them is only in the environment:
// what was typed counts.
func TestRunWait(t *testing.T) {
	for _, tt := range []struct {
		args            []string
		envWait, envNow string
		wait            time.Duration
		forever, bad    bool
	}{
		{forever: true},
		{args: []string{"-n"}},
		{args: []string{"--wait", "3s"}, wait: 3 * time.Second},
		{args: []string{"-n", "--wait", "0"}},
		{args: []string{"-n", "--wait", "3s"}, bad: true},
		{args: []string{"--wait", "3s", "--no-wait=false"}, wait: 3 * time.Second},
		{envWait: "3s", wait: 3 * time.Second},
		{envWait: "3s", args: []string{"-n"}},
		{envWait: "3s", envNow: "true", bad: true},
		{envNow: "true"},
		{envNow: "true", args: []string{"--wait", "3s"}, wait: 3 * time.Second},
		{envNow: "true", args: []string{"--no-wait=false"}, forever: true},
	} {
		t.Setenv("LOCKGW_WAIT", tt.envWait)
		t.Setenv("LOCKGW_NO_WAIT", tt.envNow)
		o, f := &options{}, pflag.NewFlagSet("run", pflag.ContinueOnError)
		o.add(f)
		if err := f.Parse(tt.args); err != nil {
			t.Fatal(err)
		}
		if err := cli.FlagsFromEnv(f); err != nil {
			t.Fatal(err)
		}
		err := o.readWait(f)
		if code, _ := cli.ExitCode(err); (code == cli.ExitUsage) != tt.bad {
			t.Errorf("%q, wait %q, no-wait %q: err = %v, want a usage error: %v", tt.args, tt.envWait, tt.envNow, err, tt.bad)
		}
		if err == nil && (o.wait != tt.wait || o.forever != tt.forever) {
			t.Errorf("%q, wait %q, no-wait %q: wait = %v, forever = %v, want %v, %v", tt.args, tt.envWait, tt.envNow, o.wait, o.forever, tt.wait, tt.forever)
		}
	}
}

// A shell completes the names of locks, and what belongs to the command with files.
func TestRunCompletion(t *testing.T) {
	path := e2e.StartGateway(t)
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var fence uint64
	if _, err := fmt.Fprint(c, "LOCK nightly\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscanf(c, ":%d\r\n", &fence); err != nil {
		t.Fatalf("nightly is not held: %v", err)
	}
	const noFiles, files = "nightly\n:4\n", ":0\n"
	for line, want := range map[string]string{
		"run ": noFiles, "run ni": noFiles, "run other ": noFiles, "run -n ": noFiles, "run other -- ": files, "run other -- ./back": files, "run other -- cat -- ": files,
	} {
		args := append([]string{"__complete"}, strings.Split(line, " ")...)
		cmd := exec.Command("lockgw", args...)
		cmd.Env = append(cmd.Environ(), "LOCKGW_SOCKET="+path)
		if got, err := cmd.Output(); err != nil || string(got) != want {
			t.Errorf("%q is completed with %q, %v; want %q", line, got, err, want)
		}
	}
}
