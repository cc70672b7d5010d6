package stores

import (
	"bufio"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

// ttl is longer than a store is away here.
const ttl = 15 * time.Second

// TestEveryStore has two gateways over each store: what is said of it, a shop that must not
// oversell, holders and gateways that die, and a store that stands still or is killed.
func TestEveryStore(t *testing.T) {
	for _, scheme := range schemes {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			s := servers[scheme](t)
			a, b := start(t, "a", s.url, ttl), start(t, "b", s.url, ttl)
			says(t, scheme, a)
			sells(t, a, b)
			dies(t, a, b)
			staysAway(t, s, a, b)
		})
	}
}

// says looks at what a gateway that is well says of its store.
func says(t *testing.T, scheme string, g *gateway) {
	t.Helper()
	g.until(t, http.StatusOK, `{"name":"store","ok":true}`)
	if code, out := g.doctor(t); code != 0 || !strings.Contains(out, scheme+"://") || !strings.Contains(out, "ready") {
		t.Errorf("doctor: exit code %d\n%s", code, out)
	}
	g.dial(t, "").lock(t, "measured", 0)
	of := `{backend="` + scheme + `"`
	for _, want := range []string{
		`lockgw_backend_request_duration_seconds_count` + of + `,failed="false",operation="swap"`, `lockgw_breaker_state` + of + `} 0`, "lockgw_locks_held 1",
	} {
		if _, body := g.get(t, "/metrics"); !strings.Contains(body, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

// dies: the holder of a lock is killed, first the lockgw run that has taken it, and then the
// command that it was taken for.
func dies(t *testing.T, a, b *gateway) {
	t.Helper()
	cmd := exec.Command(a.Program, "run", "job", "--", "sh", "-c", "echo $$; exec sleep 600")
	cmd.Env = append(os.Environ(), "LOCKGW_SOCKET="+a.Socket())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said, _ := bufio.NewReader(out).ReadString('\n')
	child, err := strconv.Atoi(strings.TrimSpace(said))
	if err != nil {
		t.Fatalf("the command says %q", said)
	}
	c := b.dial(t, "")
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if h, err := c.Lock(t.Context(), "job", client.LockOptions{}); !errors.Is(err, client.ErrNotAcquired) {
		t.Errorf("while the command lives: %+v, %v", h, err)
	}
	got := make(chan error, 1)
	go func() {
		_, err := c.Lock(t.Context(), "job", client.LockOptions{Wait: e2e.Patience})
		got <- err
	}()
	if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	if err := <-got; err != nil || time.Since(killed) > ttl/2 {
		t.Errorf("%v after the death of the command the next one is told %v", time.Since(killed), err)
	}
}

// staysAway: who holds does so while its gateway is killed, while the store stands still, and
// while it is killed, each time for less than the ttl. Nobody else comes in meanwhile.
func staysAway(t *testing.T, s server, a, b *gateway) {
	t.Helper()
	opener := a.dial(t, "")
	token, err := opener.NewSession(t.Context(), 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	held := a.dial(t, token).lock(t, "nightly", 0)
	other := b.dial(t, "")
	next := make(chan error, 1)
	go func() {
		_, err := other.Lock(t.Context(), "nightly", client.LockOptions{Wait: 2 * e2e.Patience})
		next <- err
	}()
	still := func(what string) {
		t.Helper()
		c := a.dial(t, token)
		left, err := c.renew(t, "nightly")
		if err != nil || left <= ttl/2 {
			t.Fatalf("after %s: renewed for %v, %v\n%s", what, left, err, a.Log())
		}
		if again := c.lock(t, "nightly", 0); again.Fence != held.Fence {
			t.Errorf("after %s: fence %d, want %d", what, again.Fence, held.Fence)
		}
		select {
		case err := <-next:
			t.Fatalf("after %s another one is told %v", what, err)
		default:
		}
	}
	a.Kill()
	a.again(t)
	still("kill -9 of its gateway")

	refused := func(what string) {
		t.Helper()
		asked := session.Boottime()
		_, err := b.dial(t, "").Lock(t.Context(), "new", client.LockOptions{})
		if took := session.Boottime() - asked; !errors.Is(err, client.ErrUnavailable) || took > 2*time.Second+ttl/5 {
			t.Errorf("while %s a new lock: %v after %v", what, err, took)
		}
	}
	s.pause()
	refused("the store stands still")
	s.resume()
	still("a pause of the store")

	s.kill()
	if s.goesOn {
		b.comesIn(t, "new")
	} else {
		refused("there is no store")
		a.until(t, http.StatusServiceUnavailable, `"name":"store","ok":false`)
	}
	s.back()
	still("kill -9 of the store")
	if _, err := a.dial(t, token).Unlock(t.Context(), "nightly", client.UnlockOptions{All: true}); err != nil {
		t.Error(err)
	}
}
