package stores

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/socket/client"
)

// TestMove moves a gateway from each store to the next one, as docs/howto/move.md says. Fences
// grow although the first store is ahead of the clock, and what is held goes along.
func TestMove(t *testing.T) {
	t.Parallel()
	floor := uint64(time.Now().Add(20 * time.Hour).UnixMicro())
	last := uint64(0)
	g := &gateway{e2e.NewGateway(t, e2e.ShortDir(t), "a", e2e.Program(), "")}
	base := g.Configuration(t)
	var held client.Hold
	var token client.Token // of who holds all the time
	all := map[string]server{}
	for _, scheme := range schemes { // first, so that a lease lasts while a gateway moves
		all[scheme] = servers[scheme](t)
	}
	for _, scheme := range schemes {
		s := all[scheme]
		g.Configure(t, base+strings.Replace(fmt.Sprintf(config, ttl, s.url), `"}`, fmt.Sprintf(`", fence_floor: %d}`, floor), 1))
		g.again(t)
		c := g.dial(t, "")
		if token == "" {
			var err error
			if token, err = c.NewSession(t.Context(), time.Hour); err != nil {
				t.Fatal(err)
			}
			held = g.dial(t, token).lock(t, "kept", 0)
		}
		holder := g.dial(t, token)
		if left, err := holder.renew(t, "kept"); err != nil || left < ttl/2 {
			t.Errorf("%s: who held in the store before is told %v, %v", scheme, left, err)
		}
		if h := holder.lock(t, "kept", 0); h.Fence != held.Fence {
			t.Errorf("%s: who held in the store before has fence %d, want %d", scheme, h.Fence, held.Fence)
		}
		h := c.lock(t, "nightly", 0)
		if h.Fence <= floor || h.Fence <= last {
			t.Errorf("%s: fence %d, want above the floor %d and %d", scheme, h.Fence, floor, last)
		}
		if _, err := c.Unlock(t.Context(), "nightly", client.UnlockOptions{}); err != nil {
			t.Error(err)
		}
		if err := g.Stop(); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), g.Program, "floor", "--config", g.Path("lockgw.yaml")).Output()
		if err != nil {
			t.Fatalf("floor of %s: %v", scheme, err)
		}
		next, err := strconv.ParseUint(strings.TrimSpace(string(out)), 10, 64)
		if err != nil || next <= h.Fence {
			t.Errorf("floor of %s is %q, after fence %d", scheme, out, h.Fence)
		}
		floor, last = next, h.Fence
	}
}
