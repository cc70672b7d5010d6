package restarts

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

var from = flag.String("from", "", "TestUpgrade: a commit, whose gateway is started first, such as a78a0ee")

// former builds the gateway of an earlier commit.
func former(t *testing.T, commit string) (program string) {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	if text, err := exec.Command("git", "-C", root, "cat-file", "-e", commit+"^{commit}").CombinedOutput(); err != nil {
		t.Skipf("commit %s is not in this copy of the sources, which is a shallow clone or an archive (git fetch --unshallow gets it): %s", commit, bytes.TrimSpace(text))
	}
	dir := t.TempDir()
	program = filepath.Join(dir, "lockgw")
	build := exec.Command("sh", "-ec", `git -C "$1" archive "$2" | tar -x -C "$3" && cd "$3" && CGO_ENABLED=0 go build -buildvcs=false -tags nomsgpack -o "$4" ./cmd/lockgw`,
		"sh", root, commit, dir, program)
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", commit, err, text)
	}
	return program
}

// upgraded is a gateway of the earlier program over url that was killed, with what its two
// clients held, and then started as the present one.
func upgraded(t *testing.T, program, url string, ttl time.Duration) (g *gateway, doors []*webDoor, held map[string][]lock) {
	t.Helper()
	g = newGateway(t, e2e.ShortDir(t), "upgraded", url)
	present := g.Program
	g.Program = program
	g.Configure(t, strings.Replace(g.Configuration(t), "lock:     {ttl: 15s}", fmt.Sprintf("lock:     {ttl: %v}", ttl), 1))
	g.mustStart(t)
	held = map[string][]lock{}
	for range 2 {
		d, err := openWeb(t.Context(), g, `{"keepalive": "10m"}`)
		if err != nil {
			t.Fatal(err)
		}
		doors = append(doors, d)
		for name, how := range map[string]string{"report": "mode=shared", "pool": "limit=3"} {
			var l lock
			if err := g.ask(t.Context(), "PUT", "/v1/locks/"+name+"?"+how, "", credentials{token: d.token}, &l); err != nil {
				t.Fatal(err)
			}
			held[name] = append(held[name], l)
		}
	}
	l, err := doors[0].acquire(t.Context(), "nightly", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	held["nightly"] = []lock{l}
	g.Kill()
	g.Program = present
	g.mustStart(t)
	return g, doors, held
}

// The present gateway takes the place of one of an earlier version that was killed.
func TestUpgrade(t *testing.T) {
	if *from == "" {
		t.Skip("it starts a gateway of an earlier commit: make upgrade")
	}
	program := former(t, *from)
	t.Run("memory", func(t *testing.T) { upgradeKeeps(t, program) })
	t.Run("redis", func(t *testing.T) { upgradeTells(t, program) })
}

// With the embedded store each client goes on with what it held, and nobody else gets it.
func upgradeKeeps(t *testing.T, program string) {
	g, doors, held := upgraded(t, program, "memory://", 5*time.Minute)
	for name, ls := range held {
		for i, was := range ls {
			var l lock
			err := g.ask(t.Context(), "POST", "/v1/locks/"+name+"/renew", "", credentials{token: doors[i].token}, &l)
			if err != nil || l.Fence != was.Fence {
				t.Errorf("client %d holds %s with fence %d, had %d: %v", i, name, l.Fence, was.Fence, err)
			}
		}
	}
	newcomer := &webDoor{g: g}
	for _, name := range []string{"nightly", "report"} {
		if l, err := newcomer.acquire(t.Context(), name, "", 0); err == nil {
			t.Errorf("%s was granted beside those who have it, with fence %d", name, l.Fence)
		}
	}
	for name, ls := range held {
		for i := range ls {
			if _, err := doors[i].release(t.Context(), name, ""); err != nil {
				t.Errorf("client %d gives %s back: %v", i, name, err)
			}
		}
		l, err := (&webDoor{g: g}).acquire(t.Context(), name, "", patience)
		if err != nil || l.Fence <= ls[len(ls)-1].Fence {
			t.Errorf("%s, when it is free: fence %d after %d, %v", name, l.Fence, ls[len(ls)-1].Fence, err)
		}
	}
}

// With Redis, where the present version has other keys, what was held is told lost, nobody
// gets it before its lease is over, and the log says so.
func upgradeTells(t *testing.T, program string) {
	const short = 15 * time.Second
	server := redistest.Start(t)
	begun := time.Now()
	g, doors, held := upgraded(t, program, "redis://"+server.Addr, short)
	for name, ls := range held {
		for i := range ls {
			err := doors[i].renew(t.Context(), name)
			if r := (*refusal)(nil); !errors.As(err, &r) || r.code != "lost" {
				t.Errorf("client %d renews %s: %v, want that it is lost", i, name, err)
			}
		}
	}
	if log := g.Log(); strings.Count(log, "a lock was lost") != 5 {
		t.Errorf("the log does not tell of 5 losses:\n%s", log)
	}
	l, err := (&webDoor{g: g}).acquire(t.Context(), "nightly", "", patience)
	if err != nil || l.Fence <= held["nightly"][0].Fence {
		t.Errorf("nightly, when its lease is over: fence %d after %d, %v", l.Fence, held["nightly"][0].Fence, err)
	}
	if d := time.Since(begun); d < short-time.Second {
		t.Errorf("nightly was granted %v after it was held with a lease of %v", d, short)
	}
}
