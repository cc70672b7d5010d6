package run

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

// All or none: the locks that were had before one that was not are given back,
// also where this process goes on, as with --on-unavailable run.
func TestAcquireAllOrNone(t *testing.T) {
	path := e2e.StartGateway(t)
	c, err := client.Dial(t.Context(), path, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Lock(t.Context(), "b", client.LockOptions{}); err != nil {
		t.Fatal(err)
	}
	o := &options{Gateway: cli.Gateway{Socket: path}, names: []string{"a", "b"}, conflictCode: cli.ExitNotAcquired}
	k := testGuardian(t)
	_, err = acquire(t.Context(), o, &report{quiet: true, w: io.Discard}, k)
	if code, message := cli.ExitCode(err); code != cli.ExitNotAcquired || !strings.Contains(message, "b is still held") {
		t.Fatalf("acquire a and b = %d %q, want %d", code, message, cli.ExitNotAcquired)
	}
	k.Close()
	var st client.Status
	e2e.Until(func() bool {
		st, err = c.Info(context.Background(), "a")
		return err == nil && st.State == client.Free
	})
	if st.State != client.Free {
		t.Errorf("a is %s, %v; want it given back", st.State, err)
	}
}

// A lock that was renewed while the next one was waited for has a new deadline.
func TestAcquireKnowsDeadlines(t *testing.T) {
	path := e2e.StartGateway(t)
	c, err := client.Dial(t.Context(), path, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Lock(t.Context(), "b", client.LockOptions{}); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(1200*time.Millisecond, func() { c.Close() })
	o := &options{Gateway: cli.Gateway{Socket: path}, names: []string{"a", "b"}, wait: e2e.Patience, ttl: time.Second}
	h, err := acquire(t.Context(), o, &report{quiet: true, w: io.Discard}, testGuardian(t))
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	for _, v := range h.views {
		if left := v.Deadline - session.Boottime(); left < 300*time.Millisecond {
			t.Errorf("%s: %v left as far as is known, want most of 1s", v.Name, left)
		}
	}
}

// Who waits for a lock and loses one that it had already gives up: it would not run its command.
func TestAcquireGivesUpAtALoss(t *testing.T) {
	path := e2e.StartGateway(t)
	c, err := client.Dial(t.Context(), path, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Lock(t.Context(), "b", client.LockOptions{}); err != nil {
		t.Fatal(err)
	}
	broken := make(chan error, 1)
	go func() {
		var st client.Status
		var err error
		e2e.Until(func() bool {
			st, err = c.Info(context.Background(), "b")
			return err != nil || st.Waiters == 1
		})
		if err == nil {
			st, err = c.Info(context.Background(), "a")
		}
		if err == nil {
			err = c.Break(context.Background(), "a", st.Fence, "", "")
		}
		broken <- err
	}()
	o := &options{Gateway: cli.Gateway{Socket: path}, names: []string{"a", "b"}, wait: e2e.Patience}
	_, err = acquire(t.Context(), o, &report{quiet: true, w: io.Discard}, testGuardian(t))
	if code, message := cli.ExitCode(err); code != cli.ExitLost || !strings.Contains(message, "a was lost") {
		t.Errorf("acquire a and b, of which a is broken = %d %q, want %d", code, message, cli.ExitLost)
	}
	if err := <-broken; err != nil {
		t.Error(err)
	}
}
