package redis_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A refused password is an error of the log that names it, and not a word about timers.
func TestRefusedPasswordIsLogged(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--requirepass", "secret")
	var log lines
	b, err := redis.OpenTable(redis.Config{
		URL: "redis://:wrong@" + s.Addr, Node: backend.Node{ID: "a"}, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	b.Listen(func(ledger.Addressed) {})
	within(t, "the log names the password", func() bool {
		return strings.Contains(log.String(), "level=ERROR") && strings.Contains(log.String(), "backend.password_file") && strings.Contains(log.String(), "WRONGPASS")
	})
	if text := log.String(); strings.Contains(text, "timers") {
		t.Errorf("the log speaks of timers: %s", text)
	}
}
