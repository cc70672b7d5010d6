package run

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/socket/client"
)

// What happens between the grant and the start must not start the command.
func TestSuperviseNotStarted(t *testing.T) {
	for _, tt := range []struct {
		name    string
		prepare func(h *hold, signals chan os.Signal)
		want    int
	}{
		{"lost", func(h *hold, _ chan os.Signal) { h.lost <- client.Notice{Lock: "a", Reason: "test"} }, cli.ExitLost},
		{"signal", func(_ *hold, signals chan os.Signal) { signals <- syscall.SIGTERM }, 143},
	} {
		h, signals, ran := testHold(t, "a"), make(chan os.Signal, 1), filepath.Join(t.TempDir(), "ran")
		h.views[0].Left = time.Hour
		tt.prepare(h, signals)
		_, err := supervise(&options{argv: []string{"touch", ran}}, &report{w: io.Discard}, "/usr/bin/touch", testGuardian(t), h, signals)
		if got, _ := cli.ExitCode(err); got != tt.want {
			t.Errorf("%s before the start: %v, exit code %d, want %d", tt.name, err, got, tt.want)
		}
		if cli.Exists(ran) {
			t.Errorf("%s before the start: the command was run", tt.name)
		}
		h.quit()
		h.wg.Wait()
	}
}

// -E decides how a run ends that does not get its lock, also with a code that run itself
// keeps for the command.
func TestConflictExitCode(t *testing.T) {
	for _, tt := range []struct {
		refuse, lock error
		code, want   int
	}{
		{nil, client.ErrNotAcquired, cli.ExitNotAcquired, cli.ExitNotAcquired},
		{nil, client.ErrNotAcquired, 0, 0},
		{nil, client.ErrNotAcquired, cli.ExitRefused, cli.ExitRefused},
		{nil, client.ErrNotAcquired, cli.ExitNoPermission, cli.ExitNoPermission},
		{nil, refusal("NOAUTH"), cli.ExitRefused, cli.ExitFailed},
		{cli.Exit(cli.ExitNoPermission, os.ErrPermission), nil, cli.ExitRefused, cli.ExitFailed},
		{nil, nil, cli.ExitRefused, cli.ExitFailed}, // of the command
	} {
		f := newFake(t)
		f.refuse, f.lease = tt.refuse, time.Hour
		f.lock = func(string, client.LockOptions) error { return tt.lock }
		o := &options{names: []string{"a"}, noWait: true, quiet: true, conflictCode: tt.code, onUnavailable: "fail", argv: []string{"sh", "-c", "exit 125"}}
		o.Socket, o.dial = "/s", f.dial
		if got, text := cli.ExitCode(run(t.Context(), o)); got != tt.want {
			t.Errorf("dial %v, lock %v, -E %d: exit code %d (%s), want %d", tt.refuse, tt.lock, tt.code, got, text, tt.want)
		}
	}
}

func TestChildEnv(t *testing.T) {
	env := []string{"A=1", "LOCKGW_TOKEN=old", "LOCKGW_FENCE=1", "LOCKGW_SOCKET=/old", "LOCKGW_LOCKX=stays"}
	got := childEnv(env, testHold(t, "a", "b"))
	want := []string{"A=1", "LOCKGW_LOCKX=stays", "LOCKGW_LOCK=a b", "LOCKGW_FENCE=7 8", "LOCKGW_OWNER=u:1", "LOCKGW_TOKEN=secret", "LOCKGW_SOCKET=/s"}
	if !slices.Equal(got, want) {
		t.Errorf("with locks: %q, want %q", got, want)
	}
	got = childEnv(env, &hold{})
	want = []string{"A=1", "LOCKGW_SOCKET=/old", "LOCKGW_LOCKX=stays"}
	if !slices.Equal(got, want) {
		t.Errorf("without: %q, want %q", got, want)
	}
}

// Who has lost a lock has nothing to hold on to for --min-hold. The end of the guardian gives the
// other locks back.
func TestLostEndsAtOnce(t *testing.T) {
	f, dir := newFake(t), t.TempDir()
	f.lease = time.Hour
	up := filepath.Join(dir, "up")
	o := &options{names: []string{"a", "b"}, quiet: true, argv: []string{"sh", "-c", `: >$0; exec sleep 60`, up}, signal: syscall.SIGTERM, killAfter: time.Hour, minHold: time.Hour}
	o.Socket, o.dial = "/s", f.dial
	ended := make(chan error, 1)
	go func() { ended <- run(t.Context(), o) }()
	e2e.Until(func() bool { return cli.Exists(up) })
	f.newest().options.OnNotice(client.Notice{Kind: client.Lost, Lock: "a", Reason: "broken"})
	e2e.Until(func() bool { return len(ended) > 0 })
	if len(ended) == 0 {
		t.Fatal("the run goes on")
	}
	if code, text := cli.ExitCode(<-ended); code != cli.ExitLost || len(f.given) > 0 {
		t.Errorf("exit code %d %q, given back %q; want %d, and nothing asked for", code, text, f.given, cli.ExitLost)
	}
}
