package run

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

// The gateway cannot be asked. Each alarm goes off, or does so early, once to ask and once to kill.
func TestKeepTime(t *testing.T) {
	now := session.Boottime()
	for name, tt := range map[string]struct {
		deadline time.Duration
		ended    bool
		killed   bool
	}{
		"deadline has passed":                        {deadline: now, killed: true},
		"deadline has passed, and the command ended": {deadline: now, ended: true},
		"deadline is far":                            {deadline: now + time.Hour},
		"no deadline":                                {deadline: 0},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("cat")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			in, err := cmd.StdinPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			alarm, err := boottime.New()
			if err != nil {
				t.Fatal(err)
			}
			defer alarm.Close()
			p := &process{pid: cmd.Process.Pid, done: make(chan struct{})}
			if tt.ended { // the leader; cat is what it has left in the background
				close(p.done)
			}
			o := &startOrder{Socket: filepath.Join(t.TempDir(), "none"), Views: []client.Hold{{Name: "nightly"}}}
			k := &timekeeper{o: o, alarm: alarm, p: p, margin: time.Second}
			k.until(tt.deadline)
			k.due()
			k.due()
			_ = in.Close()
			if err := cmd.Wait(); (err != nil) != tt.killed {
				t.Errorf("the command ended with %v, want killed: %v", err, tt.killed)
			}
		})
	}
}

// A guardian that takes over begins with the last deadline that the run has told.
func TestKeepTimeForTakeover(t *testing.T) {
	alarm, err := boottime.New()
	if err != nil {
		t.Fatal(err)
	}
	defer alarm.Close()
	o := &startOrder{Views: []client.Hold{{Name: "a", Deadline: 1}, {Name: "b", Deadline: 2}}}
	k := &timekeeper{o: o, alarm: alarm}
	want := session.Boottime() + time.Hour
	k.until(want)
	if deadline, _ := earliest(o.hold().names(), o.hold().views); deadline != want {
		t.Errorf("deadline of the guardian's hold = %v, want %v", deadline, want)
	}
}
