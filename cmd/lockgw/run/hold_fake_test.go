package run

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// acquireFrom acquires names from f.
func acquireFrom(t *testing.T, f *fake, o *options) (*hold, error) {
	t.Helper()
	o.Socket, o.dial, o.conflictCode = "/s", f.dial, cli.ExitNotAcquired
	h, err := acquire(t.Context(), o, &report{quiet: true, w: io.Discard}, testGuardian(t))
	if err == nil {
		t.Cleanup(h.close)
	}
	return h, err
}

func refusal(word string) error { return &client.Error{Word: word, Text: "wait: as a test says"} }

// A gateway that cannot watch the process gets a session that lives by its connection;
// every other refusal ends the run.
func TestBindRefused(t *testing.T) {
	for _, tt := range []struct {
		word  string
		bound bool
		code  int
	}{
		{"", true, 0},
		{"INVALID", false, 0},
		{"UNSUPPORTED", false, 0},
		{"DRAINING", false, cli.ExitUnavailable},
		{"BUSY", false, cli.ExitNotAcquired},
		{"NOAUTH", false, cli.ExitFailed},
	} {
		f := newFake(t)
		f.lease = time.Hour
		if tt.word != "" {
			f.bind = refusal(tt.word)
		}
		h, err := acquireFrom(t, f, &options{names: []string{"a"}})
		if code, _ := cli.ExitCode(err); code != tt.code {
			t.Errorf("bind refused by %q: %v, exit code %d, want %d", tt.word, err, code, tt.code)
		}
		if err == nil && (h.bound != tt.bound || h.token != "token") {
			t.Errorf("bind refused by %q: bound = %v, token %q, want %v and a token", tt.word, h.bound, h.token.Secret(), tt.bound)
		}
	}
}

// A wait is made of as many requests as the gateway's bound makes necessary.
func TestLockWaitsOn(t *testing.T) {
	f, busy := newFake(t), 3
	f.lease = time.Hour
	f.lock = func(_ string, o client.LockOptions) error {
		switch {
		case o.Wait > time.Minute:
			return refusal("INVALID")
		case busy > 0:
			busy--
			return client.ErrNotAcquired
		}
		return nil
	}
	if _, err := acquireFrom(t, f, &options{names: []string{"a"}, forever: true}); err != nil {
		t.Fatal(err)
	}
	var waits []time.Duration
	for _, o := range f.asked {
		waits = append(waits, o.Wait)
	}
	want := []time.Duration{longestWait, longestWait / 2, longestWait / 4, longestWait / 8, longestWait / 8, longestWait / 8, longestWait / 8}
	if !slices.Equal(waits, want) {
		t.Errorf("waits = %v, want %v", waits, want)
	}
	f.asked, f.lock = nil, func(string, client.LockOptions) error { return client.ErrNotAcquired }
	if _, err := acquireFrom(t, f, &options{names: []string{"a"}, noWait: true}); err == nil || len(f.asked) != 1 {
		t.Errorf("without a wait: %v after %d requests, want a failure after one", err, len(f.asked))
	}
}

// A gateway that hangs after it was reached holds up no run before its wait, and none after it.
func TestAcquireFromAGatewayThatHangs(t *testing.T) {
	t.Setenv("LOCKGW_TOKEN", "a token")
	for _, refused := range []error{nil, client.ErrNotAcquired} {
		f := newFake(t)
		f.lease = time.Hour
		f.lock = func(string, client.LockOptions) error { return refused }
		o := &options{Gateway: cli.Gateway{Socket: "/s"}, dial: f.dial, names: []string{"a"}, wait: time.Nanosecond}
		if err := o.checkNested(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := acquireFrom(t, f, o); (err == nil) != (refused == nil) || len(f.endless) > 0 {
			t.Errorf("refused by %v: %q are waited for without a bound, %v", refused, f.endless, err)
		}
	}
}

// A gateway that hangs while it is asked does not hold up a wait that has a bound.
func TestLockOfAGatewayThatHangs(t *testing.T) {
	for _, o := range []options{{wait: time.Second}, {noWait: true}, {forever: true}} {
		f := newFake(t)
		f.lease = time.Hour
		o.names = []string{"a"}
		if _, err := acquireFrom(t, f, &o); err != nil {
			t.Fatal(err)
		}
		if bounded := f.patience > 0; bounded == o.forever || f.patience > o.wait+restartPatience {
			t.Errorf("wait %v, forever %v: waits %v for the answer, 0 is for as long as it takes", o.wait, o.forever, f.patience)
		}
	}
	f := newFake(t)
	f.lease = time.Hour
	f.lock = func(string, client.LockOptions) error { // when the wait is over; the client has closed the connection
		time.Sleep(10 * time.Millisecond)
		f.conns[0].Close()
		return context.DeadlineExceeded
	}
	var told strings.Builder
	o := &options{names: []string{"a"}, wait: time.Millisecond, conflictCode: cli.ExitNotAcquired}
	o.Socket, o.dial = "/s", f.dial
	_, err := acquire(t.Context(), o, &report{w: &told}, testGuardian(t))
	if code, text := cli.ExitCode(err); code != cli.ExitUnavailable || !strings.Contains(text, "does not answer") || told.String() != "" {
		t.Errorf("no answer = %d %q, told %q, want %d and that", code, text, told.String(), cli.ExitUnavailable)
	}
}

// Who does not get all gives back what he has, by ending the connection.
func TestLockFailsForGood(t *testing.T) {
	f := newFake(t)
	f.lease = time.Hour
	f.lock = func(name string, _ client.LockOptions) error {
		if name == "b" {
			return refusal("NOAUTH")
		}
		return nil
	}
	_, err := acquireFrom(t, f, &options{names: []string{"a", "b"}})
	if code, text := cli.ExitCode(err); code != cli.ExitFailed || !strings.Contains(text, "NOAUTH") {
		t.Errorf("a refused lock = %d %q, want %d: 1 is the command's", code, text, cli.ExitFailed)
	}
	select {
	case <-f.newest().done:
	default:
		t.Error("the connection is still there")
	}
}

// What cannot be given back is told, each as it is, and the others are given back.
func TestReleaseTells(t *testing.T) {
	f := newFake(t)
	f.lease = time.Hour
	f.unlocked = map[string]error{"a": refusal("LOST"), "b": refusal("NOTHELD"), "c": errors.New("no answer")}
	h, err := acquireFrom(t, f, &options{names: []string{"a", "b", "c", "d"}})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	h.release(&report{w: &out})
	if want := []string{"d", "c", "b", "a"}; !slices.Equal(f.given, want) {
		t.Errorf("given back %q, want %q", f.given, want)
	}
	for _, want := range []string{"a was lost before", "b was lost before", "c may stay locked"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("told %q, want %q in it", out.String(), want)
		}
	}
	if strings.Count(out.String(), "\n") != 3 {
		t.Errorf("told %q, want nothing of what went well", out.String())
	}
}

// A session that has outlived its connection is spoken for over another one at the end.
func TestReleaseReconnects(t *testing.T) {
	f := newFake(t)
	f.lease = time.Hour
	h, err := acquireFrom(t, f, &options{names: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	f.newest().Close()
	var out strings.Builder
	h.release(&report{w: &out})
	if got := f.newest(); f.dials() != 2 || got.options.Token != "token" || !slices.Equal(f.given, []string{"a"}) || out.Len() > 0 {
		t.Errorf("after %d dials %q was given back, told %q, want a over the second, and nothing told", f.dials(), f.given, out.String())
	}
}
