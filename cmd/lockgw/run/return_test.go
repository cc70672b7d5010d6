package run

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// A gateway that says that it goes away is waited for, and asked again over a new
// connection.
func TestLockWaitsForTheGateway(t *testing.T) {
	f, away := newFake(t), 2
	f.lease = time.Hour
	f.lock = func(string, client.LockOptions) error {
		if away > 0 {
			away--
			return refusal("DRAINING")
		}
		return nil
	}
	if _, err := acquireFrom(t, f, &options{names: []string{"a"}, forever: true, quiet: true}); err != nil || len(f.asked) != 3 || f.dials() != 3 {
		t.Errorf("%v after %d requests over %d connections, want 3 over 3", err, len(f.asked), f.dials())
	}
	f, away = newFake(t), 1
	f.lease = time.Hour
	f.lock = func(string, client.LockOptions) error { return refusal("DRAINING") }
	if _, err := acquireFrom(t, f, &options{names: []string{"a"}, noWait: true}); len(f.asked) != 1 {
		t.Errorf("without a wait: %v after %d requests, want a failure after one", err, len(f.asked))
	}
}

// What was lost while there was no connection is told by no notice: nothing is run then, nor
// waited for.
func TestReturnFindsALoss(t *testing.T) {
	f, away := newFake(t), true
	f.lease = time.Hour
	f.lock = func(name string, _ client.LockOptions) error {
		if name == "b" && away {
			away = false
			f.holds = nil // a break
			return refusal("DRAINING")
		}
		return nil
	}
	_, err := acquireFrom(t, f, &options{names: []string{"a", "b"}, forever: true, quiet: true})
	if code, text := cli.ExitCode(err); code != cli.ExitLost || !strings.Contains(text, "a was lost") {
		t.Errorf("with one of two locks: %d %q, want %d and which is lost", code, text, cli.ExitLost)
	}
	if len(f.asked) > 2 {
		t.Error("b was asked for again, when a was lost")
	}
}

// A gateway that is back and refuses this user is not away: --on-unavailable must not hide that.
func TestReturnRefuses(t *testing.T) {
	denied := cli.GatewayError("/s", &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.EACCES)})
	gone := cli.GatewayError("/s", &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)})
	for _, tt := range []struct {
		refuse error
		code   int
	}{
		{denied, cli.ExitFailed},
		{cli.GatewayError("/s", refusal("NOAUTH")), cli.ExitFailed},
		{gone, cli.ExitUnavailable},
	} {
		f := newFake(t)
		f.lease = time.Hour
		f.lock = func(string, client.LockOptions) error {
			f.refuse = tt.refuse
			return refusal("DRAINING")
		}
		_, err := acquireFrom(t, f, &options{names: []string{"a"}, wait: 2 * redialAfter, quiet: true})
		if code, text := cli.ExitCode(err); code != tt.code {
			t.Errorf("back with %v: exit code %d %q, want %d", tt.refuse, code, text, tt.code)
		}
	}
}

// A gateway that goes away again in the middle of opening a session has given none: what came
// next would be locked without one that could be joined again.
func TestReturnOpensASession(t *testing.T) {
	f, n := newFake(t), 0
	f.lease = time.Hour
	f.bind = refusal("UNSUPPORTED")
	f.dialed = func(o client.Options) error {
		n++
		switch n {
		case 2: // it was restarted, and has forgotten the session
			f.bind = refusal("DRAINING")
			return refusal("NOSESSION")
		case 3: // and is restarted again
		case 4:
			f.bind = refusal("UNSUPPORTED")
			if o.Token != "" {
				return refusal("NOSESSION")
			}
		}
		return nil
	}
	away := true
	f.lock = func(string, client.LockOptions) error {
		if away {
			away = false
			return refusal("DRAINING")
		}
		return nil
	}
	h, err := acquireFrom(t, f, &options{names: []string{"a", "b"}, forever: true, quiet: true})
	if err != nil {
		t.Fatal(err)
	}
	if h.token == "" {
		t.Error("the locks are held by a session without a token")
	}
}

// A gateway that has forgotten the session has lost what was locked before: that is told, of which
// lock, with the exit code of a loss.
func TestReturnWithoutTheSession(t *testing.T) {
	for when, forget := range map[string]func(f *fake){
		"it comes back": func(f *fake) { f.refuse = refusal("NOSESSION") },
		"it is asked":   func(f *fake) { f.session = refusal("NOSESSION") },
	} {
		f := newFake(t)
		f.lease = time.Hour
		f.lock = func(name string, _ client.LockOptions) error {
			if name == "b" {
				forget(f)
				return refusal("DRAINING")
			}
			return nil
		}
		_, err := acquireFrom(t, f, &options{names: []string{"a", "b"}, wait: 20 * redialAfter, quiet: true})
		if code, text := cli.ExitCode(err); code != cli.ExitLost || !strings.HasPrefix(text, "a was lost") {
			t.Errorf("forgotten when %s: exit code %d %q, want %d, and that a was lost", when, code, text, cli.ExitLost)
		}
	}
}

// --on-unavailable is for a gateway that is down, never for one that this user may not use.
func TestUnavailable(t *testing.T) {
	dial := func(no syscall.Errno) error {
		return cli.GatewayError("/s", &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", no)})
	}
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{dial(syscall.ENOENT), true},
		{dial(syscall.ECONNREFUSED), true},
		{dial(syscall.EACCES), false},
		{cli.GatewayError("/s", refusal("UNAVAILABLE")), true},
		{cli.GatewayError("/s", refusal("NOAUTH")), false},
		{errors.New("else"), false},
		{nil, false},
	} {
		if got := unavailable(tt.err); got != tt.want {
			t.Errorf("unavailable(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
	if err := dial(syscall.EACCES); !strings.Contains(err.Error(), "you may not use") {
		t.Errorf("err = %v, want one that says so", err)
	}
}
