// Package stores has real gateways over real servers of every store, and looks at what their
// callers see, and whoever looks after them.
package stores

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
	"github.com/lockgw/lockgw/backend/servertest"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/socket/client"
)

func TestMain(m *testing.M) {
	servertest.Parallel(4)
	code, err := e2e.Main(m)
	pgtest.RemoveTemplate()
	mysqltest.RemoveTemplate()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// gateway is a node whose process may be ended and started again.
type gateway struct{ *e2e.Gateway }

// config of a gateway; the turns are few, so that a name changes hands often.
const config = `http:     {listen: []}
lock:     {ttl: %v}
fairness: {max_turns: 4}
backend:  {url: "%s"}
log:      {level: info, format: text}
`

// prepare has a gateway over the store at url, which is not started.
func prepare(t *testing.T, name, url string, ttl time.Duration) *gateway {
	t.Helper()
	return &gateway{e2e.NewGateway(t, e2e.ShortDir(t), name, e2e.Program(), fmt.Sprintf(config, ttl, url))}
}

// start has a gateway over the store at url, and waits until it is ready.
func start(t *testing.T, name, url string, ttl time.Duration) *gateway {
	t.Helper()
	g := prepare(t, name, url, ttl)
	g.again(t)
	return g
}

// again starts the process, and waits until it is ready.
func (g *gateway) again(t *testing.T) {
	t.Helper()
	err := g.Start()
	if err == nil {
		err = g.Await(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// get is the answer to a GET.
func (g *gateway) get(t *testing.T, path string) (status int, body string) {
	t.Helper()
	resp, err := g.HTTP.Get("http://lockgw" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// until waits until /readyz answers so; status 0: any.
func (g *gateway) until(t *testing.T, status int, words string) {
	t.Helper()
	var got int
	var body string
	is := func() bool {
		got, body = g.get(t, "/readyz?verbose")
		return (status == 0 || got == status) && strings.Contains(body, words)
	}
	if e2e.Until(is); !is() {
		t.Fatalf("/readyz of %s is %d %s, want %d with %q\n%s", g.Name, got, body, status, words, g.Log())
	}
}

// doctor is what lockgw doctor prints of this gateway, and its exit code.
func (g *gateway) doctor(t *testing.T) (code int, out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), g.Program, "doctor")
	cmd.Env = append(os.Environ(), "LOCKGW_SOCKET="+g.Socket())
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// caller is a connection to a gateway, which is a session.
type caller struct {
	*client.Client

	mu   sync.Mutex // guards the field below
	lost map[string]time.Time
}

// dial has a caller that ends with the test.
func (g *gateway) dial(t *testing.T, token client.Token) *caller {
	t.Helper()
	c := &caller{lost: map[string]time.Time{}}
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	var err error
	c.Client, err = client.Dial(ctx, g.Socket(), client.Options{Token: token, OnNotice: func(n client.Notice) {
		if n.Kind == client.Lost {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.lost[n.Lock] = time.Now()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// told: it was told that the name is lost.
func (c *caller) told(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.lost[name].IsZero()
}

// lock takes the name within the wait.
func (c *caller) lock(t *testing.T, name string, wait time.Duration) client.Hold {
	t.Helper()
	h, err := c.Lock(t.Context(), name, client.LockOptions{Wait: wait})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return h
}

// comesIn takes a name as soon as new locks are granted: for two seconds after the store is
// back they may not be.
func (g *gateway) comesIn(t *testing.T, name string) client.Hold {
	t.Helper()
	c := g.dial(t, "")
	var h client.Hold
	var err error
	e2e.Until(func() bool {
		h, err = c.Lock(t.Context(), name, client.LockOptions{})
		return !errors.Is(err, client.ErrUnavailable)
	})
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, g.Log())
	}
	return h
}

// renew renews the name, as soon as the store answers.
func (c *caller) renew(t *testing.T, name string) (left time.Duration, err error) {
	t.Helper()
	e2e.Until(func() bool {
		left, err = c.Renew(t.Context(), name, 0, 0)
		return !errors.Is(err, client.ErrUnavailable)
	})
	return left, err
}
