package restarts

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// hundred takes a hundred names, each in a session of its own.
func hundred(t *testing.T, g *gateway) map[*webDoor]lock {
	t.Helper()
	told := map[*webDoor]lock{}
	for n := range 100 {
		d, err := openWeb(t.Context(), g, `{"keepalive":"1h"}`)
		if err != nil {
			t.Fatal(err)
		}
		if told[d], err = d.acquire(t.Context(), fmt.Sprint("x-", n), "first", 0); err != nil {
			t.Fatal(err)
		}
	}
	return told
}

// A store that came back empty while the gateway was away is told of its holds again:
// each goes on with its fence, and nobody gets any other name for a while.
func TestRestartWithEmptyStore(t *testing.T) {
	store := redistest.Start(t)
	g := newGateway(t, e2e.ShortDir(t), "lone", store.URL())
	// The leases, and so the quarantine, last longer than the test.
	g.Configure(t, strings.Replace(g.Configuration(t), fmt.Sprint("{ttl: ", ttl), "{ttl: 1h", 1))
	g.mustStart(t)
	told := hundred(t, g)
	g.Kill()
	store.Restart()
	if err := g.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it serves, though it is not ready", func() bool {
		a, err := g.call(t.Context(), http.MethodGet, "/readyz?exclude=store", credentials{})
		return err == nil && a.status == http.StatusOK
	})
	c := store.Client()
	for d, l := range told {
		eventually(t, "the hold of "+l.Name, func() bool { return d.renew(t.Context(), l.Name) == nil })
		if n := c.Exists(t.Context(), l.Name).Val(); n != 1 {
			t.Errorf("%s is not in the store", l.Name)
		}
		if again, err := d.acquire(t.Context(), l.Name, "second", 0); err != nil || again.Fence != l.Fence {
			t.Errorf("entered again: %+v, %v, want fence %d", again, err, l.Fence)
		}
	}
	other, err := openWeb(t.Context(), g, `{"keepalive":"1h"}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.acquire(t.Context(), "another", "", 0); err == nil || !strings.Contains(err.Error(), "backend.redis.guard") {
		t.Errorf("a name that may have been held: %v, want a refusal that says why", err)
	}
}

// Without the guard each hold is lost, none is taken anew, and the next fences are larger.
func TestRestartWithEmptyStoreUnguarded(t *testing.T) {
	store := redistest.Start(t)
	g := newGateway(t, e2e.ShortDir(t), "lone", store.URL())
	g.Configure(t, strings.Replace(g.Configuration(t), "backend:  {", "backend:  {redis: {guard: none}, ", 1))
	g.mustStart(t)
	told := hundred(t, g)
	g.Kill()
	store.Restart()
	g.mustStart(t)
	c := store.Client()
	for d, l := range told {
		var no *refusal
		eventually(t, "the loss of "+l.Name, func() bool {
			return errors.As(d.renew(t.Context(), l.Name), &no) && no.code == "lost"
		})
		if n := c.Exists(t.Context(), l.Name).Val(); n != 0 {
			t.Errorf("%s is taken again", l.Name)
		}
		if next, err := d.acquire(t.Context(), l.Name, "second", 0); err != nil || next.Fence <= l.Fence {
			t.Errorf("a new hold: %+v, %v, want a fence above %d", next, err, l.Fence)
		}
	}
}

// A lease that was over when the gateway came back is lost, and is not taken anew.
func TestRestartTooLate(t *testing.T) {
	store := redistest.Start(t)
	g := lone(t, store.URL())
	d, l := mustHold(t, g, "x", `{"keepalive":"1h","ttl":"1s"}`)
	line, err := openLine(t.Context(), g, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	defer line.close()
	if _, err := line.do(t.Context(), "LOCK", "y", "TTL", "1"); err != nil {
		t.Fatal(err)
	}
	g.Kill()
	c := store.Client()
	eventually(t, "the leases are over", func() bool { return c.Exists(t.Context(), "x", "y").Val() == 0 })
	g.mustStart(t)
	var no *refusal
	for range 2 {
		if err := d.renew(t.Context(), "x"); !errors.As(err, &no) || no.code != "lost" {
			t.Errorf("renew: %v, want lost", err)
		}
	}
	if _, err := d.release(t.Context(), "x", ""); !errors.As(err, &no) || no.code != "lost" {
		t.Errorf("release: %v, want lost", err)
	}
	if _, err := line.do(t.Context(), "UNLOCK", "y"); !errors.As(err, &no) || no.code != "lost" {
		t.Errorf("UNLOCK: %v, want LOST", err)
	}
	if n := c.Exists(t.Context(), "x", "y").Val(); n != 0 {
		t.Errorf("%d of the names are taken again", n)
	}
	if again, err := d.acquire(t.Context(), "x", "", 0); err != nil || again.Fence <= l.Fence {
		t.Errorf("a new hold: %+v, %v, want a fence above %d", again, err, l.Fence)
	}
}
