package doors

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// limit of descriptors of the gateways that are attacked.
const limit = 256

// Somebody who takes all descriptors that he can get, in whatever way, keeps nobody else
// from his locks, and no probe from its answer.
func TestOneUserTakesAllDescriptors(t *testing.T) {
	for name, attack := range map[string]func(*testing.T, *gateway) (refused bool){
		"hold streams over TCP": func(t *testing.T, g *gateway) bool {
			return g.crowd(mallory, "tcp", g.tcp, "POST /v1/locks/m-%d/hold HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 429")
		},
		"connections to http.sock": func(t *testing.T, g *gateway) bool {
			return g.crowd(mallory, "unix", g.http(), "GET /version?%d HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 429")
		},
		"connections to resp.sock": func(t *testing.T, g *gateway) bool {
			return g.crowd(mallory, "unix", g.resp(), "LOCK m-%d\r\n", "-BUSY ")
		},
		"bound processes, over one connection": bindMany,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := start(t, setup{limit: limit})
			const lease = `{"keepalive":"1m","ttl":"5s"}` // the attack takes its time where the machine is busy
			tokens := map[string]string{}
			for _, network := range []string{"unix", "tcp"} {
				tokens[network] = g.must(201, alice, network, "POST", "/v1/sessions", "", lease).field("token")
				g.must(201, alice, network, "PUT", "/v1/locks/alice-"+network, tokens[network], "")
			}
			if !attack(t, g) {
				t.Errorf("whoever takes all that he gets was never refused, at a limit of %d descriptors", limit)
			}
			for end := time.Now().Add(4 * time.Second); time.Now().Before(end); time.Sleep(300 * time.Millisecond) {
				for network, token := range tokens {
					g.must(200, alice, network, "POST", "/v1/sessions/self/keepalive", token, "")
				}
			}
			for network, token := range tokens {
				g.must(200, alice, network, "PUT", "/v1/locks/alice-"+network, token, "") // again: still hers
			}
			g.must(200, 0, "unix", "GET", "/v1/locks", "", "")
			for _, uid := range []int{0, bob, mallory} {
				g.must(200, uid, "unix", "GET", "/livez", "", "")
				g.must(200, uid, "tcp", "GET", "/livez", "", "")
			}
		})
	}
}

// crowd makes connections until several were refused, and goes on for a while. Each is
// left as it is.
func (g *gateway) crowd(uid int, network, address, request, refusal string) (refused bool) {
	g.t.Helper()
	refusals := 0
	for n := 0; n < 2*limit && refusals < 30; n++ {
		c, err := g.connect(uid, network, address)
		if err != nil {
			g.t.Fatalf("connection %d: %v", n, err)
		}
		_, _ = fmt.Fprintf(c, request, n) // one that is refused may be closed by now
		if line, _ := bufio.NewReader(c).ReadString('\n'); strings.HasPrefix(line, refusal) {
			refusals++
		}
	}
	return refusals > 0
}

// bindMany opens sessions that live by a process, which costs the gateway a descriptor
// each, until it is refused.
func bindMany(t *testing.T, g *gateway) bool {
	sleep := command(mallory, "sleep", "600")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sleep.Process.Kill(); _ = sleep.Wait() })
	c, err := g.connect(mallory, "unix", g.http())
	if err != nil {
		t.Fatal(err)
	}
	body, r := fmt.Sprintf(`{"bind":{"pid":%d}}`, sleep.Process.Pid), bufio.NewReader(c)
	for range 2 * limit {
		_, _ = fmt.Fprintf(c, "POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode == http.StatusTooManyRequests && strings.Contains(string(text), "too_many_sessions") {
			return true
		}
		if resp.StatusCode != http.StatusCreated {
			t.Fatalf("bind: %d %s", resp.StatusCode, text)
		}
	}
	return false
}

// The silence of a client that is refused says nothing: its lock stays its own until it
// can speak again, and is free soon when it does not.
func TestNoSilenceWhileRefused(t *testing.T) {
	t.Parallel()
	g := start(t, setup{limit: limit})
	token := g.must(201, mallory, "unix", "POST", "/v1/sessions", "", `{"keepalive":"3s"}`).field("token")
	g.must(201, mallory, "unix", "PUT", "/v1/locks/a", token, "")
	var conns []net.Conn
	for end := time.Now().Add(4 * time.Second); time.Now().Before(end); { // less than a connection may be silent
		c, err := g.connect(mallory, "unix", g.http())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
		if len(conns) > limit/2 {
			_, _ = io.WriteString(c, "POST /v1/sessions/self/keepalive HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+token+"\r\n\r\n")
			if line, _ := bufio.NewReader(c).ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 429") {
				t.Fatalf("connection %d is answered %q, want 429: the share is used up", len(conns), line)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	if got := g.must(200, alice, "unix", "GET", "/v1/locks/a", "", "").field("state"); got != "held" {
		t.Errorf("after 4 s of refused keepalives the lock is %s, want held", got)
	}
	for _, c := range conns {
		c.Close()
	}
	e2e.Until(func() bool { return g.call(alice, "unix", "GET", "/v1/locks/a", "", "").field("state") == "free" })
	if got := g.must(200, alice, "unix", "GET", "/v1/locks/a", "", "").field("state"); got != "free" {
		t.Errorf("the lock of a client that says nothing any more is %s, want free", got)
	}
}
