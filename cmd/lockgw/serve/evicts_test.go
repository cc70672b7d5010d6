package serve

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
)

// A gateway does not start over servers that may drop locks, unless it is told to.
func TestStoreThatDropsLocks(t *testing.T) {
	bad := redistest.Start(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
	good, other := redistest.Start(t), redistest.Start(t)
	for _, url := range []string{bad.URL(), "redlock://" + strings.Join([]string{good.Addr, bad.Addr, other.Addr}, ",")} {
		for how, refused := range map[string]bool{"refuse": true, "read-only": false} {
			c := config.Default()
			c.Backend.URL, c.Backend.Redis.Eviction, c.Node, c.StateDir = url, how, "n", t.TempDir()
			log := slog.New(slog.DiscardHandler)
			seen, err := observe(t.Context(), config.Settings{Config: c}, log)
			if err != nil {
				t.Fatal(err)
			}
			var past legacy
			past.state.Node = "a"
			store, err := openStore(t.Context(), c, past, seen, log)
			if code, text := cli.ExitCode(err); refused != (code == cli.ExitUnavailable && strings.Contains(text, "noeviction")) {
				t.Errorf("%s, %s: %v", url, how, err)
			}
			if store != nil {
				_ = store.Close()
			}
		}
	}
}
