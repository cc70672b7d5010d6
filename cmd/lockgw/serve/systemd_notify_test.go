package serve

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

func TestNotify(t *testing.T) {
	s := newSystemd(t)
	s.listenAll()
	gateway := s.start([]string{"WATCHDOG_USEC=100000"})
	first := s.heard()
	if !slices.Equal(first, []string{"READY=1", "STATUS=serving"}) {
		t.Errorf("first told %q, want that it serves", first)
	}
	s.await("STATUS=serving; the store (memory) answers")
	for range 3 {
		s.await("WATCHDOG=1")
	}

	if err := gateway.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	heard := s.await("RELOADING=1")
	checkMonotonic(t, heard[len(heard)-1])
	s.await("READY=1")

	if err := gateway.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.await("STOPPING=1")
	s.ended(gateway)
}

// checkMonotonic: systemd takes a READY for that of a reload by the time in it.
func checkMonotonic(t *testing.T, reloading []string) {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		t.Fatal(err)
	}
	told := time.Duration(0)
	for _, line := range reloading {
		if n, err := strconv.ParseInt(strings.TrimPrefix(line, "MONOTONIC_USEC="), 10, 64); err == nil {
			told = time.Duration(n) * time.Microsecond
		}
	}
	if age := time.Duration(now.Nano()) - told; age < 0 || age > e2e.Patience {
		t.Errorf("told %q, which is %v ago on the monotonic clock", reloading, age)
	}
}

// The state of the store is told when it changes, and the gateway is alive
// whatever it is.
func TestNotifyStore(t *testing.T) {
	s := newSystemd(t)
	link := redistest.Proxy(t, redistest.Start(t).Addr)
	link.Set(redistest.DropReplies)
	gateway := s.start([]string{"WATCHDOG_USEC=100000"}, "--backend-url", "redis://"+link.Addr, "--backend-timeout", "0.5")
	const want = "STATUS=serving; the store (redis) cannot be used: "
	heard := ""
	e2e.Until(func() bool {
		heard = strings.Join(s.heard(), "\n")
		return strings.HasPrefix(heard, want)
	})
	if !strings.HasPrefix(heard, want) {
		t.Errorf("with a store that does not answer the last message is %q, want %s", heard, want)
	}
	s.await("WATCHDOG=1")
	s.stop(gateway)
}

// Without a sign of life nothing is told, however it is missing.
func TestNoBeatWithoutLife(t *testing.T) {
	s := newSystemd(t)
	t.Setenv("NOTIFY_SOCKET", s.notify.LocalAddr().String())
	m := &serviceManager{log: slog.New(slog.DiscardHandler)}
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	m.beat(ctx, time.Millisecond, func() error {
		if asked++; asked == 3 {
			cancel()
		}
		return errors.New("it is not")
	})
	if !m.tell("END=1") {
		t.Fatal("nothing can be told")
	}
	if heard := s.await("END=1"); len(heard) != 1 {
		t.Errorf("told %q, want no sign of life", heard)
	}
}

func TestAlive(t *testing.T) {
	g := newTestGateway(t)
	if err := g.alive(); err != nil {
		t.Errorf("alive = %v", err)
	}
	g.manager.Drain()
	if err := g.alive(); err != nil {
		t.Errorf("alive while it drains = %v", err)
	}
}

func newTestGateway(t *testing.T) *gateway {
	t.Helper()
	c, log := config.Default(), slog.New(slog.DiscardHandler)
	past, err := remember(t.TempDir(), config.History{}, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { past.journal.Close() })
	store, err := openTable(c, past, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	g := newGateway(c, store, past, admission{}, &observation{}, log)
	t.Cleanup(func() {
		if err := g.stop(e2e.Patience); err != nil {
			t.Error(err)
		}
	})
	return g
}
