package serve

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e/process"
)

// drained is a gateway that tests stop.
type drained struct {
	t   *testing.T
	dir string
	cmd *exec.Cmd
	err strings.Builder // what it logs; after its end
}

func startDrained(t *testing.T, args ...string) *drained {
	t.Helper()
	d := &drained{t: t, dir: e2e.ShortDir(t)}
	d.cmd = exec.Command("lockgw", append([]string{"serve", "--http-listen=", "--socket-dir", d.dir, "--state-dir", filepath.Join(d.dir, "state")}, args...)...)
	d.cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	d.cmd.Stderr = &d.err
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if d.cmd.ProcessState == nil {
			_ = d.cmd.Process.Kill()
			_ = d.cmd.Wait()
		}
	})
	e2e.Until(func() bool { return exec.Command("lockgw", "ls", "--socket", d.path(cli.RespSocket)).Run() == nil })
	return d
}

func (d *drained) path(socket string) string { return filepath.Join(d.dir, socket) }

func (d *drained) signal() {
	d.t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		d.t.Fatal(err)
	}
}

// line sends a command on a new connection to resp.sock, whose answers can be read.
func (d *drained) line(command string) (net.Conn, *bufio.Reader) {
	d.t.Helper()
	c, err := net.Dial("unix", d.path(cli.RespSocket))
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(2 * e2e.Patience)); err != nil {
		d.t.Fatal(err)
	}
	d.send(c, command)
	return c, bufio.NewReader(c)
}

func (d *drained) send(c net.Conn, command string) {
	d.t.Helper()
	if _, err := io.WriteString(c, command+"\r\n"); err != nil {
		d.t.Fatalf("%s: %v", command, err)
	}
}

// answer is the next line.
func (d *drained) answer(r *bufio.Reader) string {
	d.t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		d.t.Errorf("no answer: %q, %v", line, err)
	}
	return strings.TrimSpace(line)
}

func (d *drained) expect(r *bufio.Reader, begin string) {
	d.t.Helper()
	if got := d.answer(r); !strings.HasPrefix(got, begin) {
		d.t.Errorf("answer %q, want %s", got, begin)
	}
}

// request over http.sock.
func (d *drained) request(method, path string, header ...string) *http.Response {
	d.t.Helper()
	c := process.Over(d.path(cli.HTTPSocket), 0)
	c.Timeout = 2 * e2e.Patience
	req, err := http.NewRequest(method, "http://localhost"+path, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		d.t.Fatalf("%s %s: %v", method, path, err)
	}
	d.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// waiters waits until so many wait for the lock.
func (d *drained) waiters(lock string, want int) {
	d.t.Helper()
	got := 0
	e2e.Until(func() bool {
		var st struct{ Waiters int }
		_ = json.NewDecoder(d.request(http.MethodGet, "/v1/locks/"+lock).Body).Decode(&st)
		got = st.Waiters
		return got == want
	})
	if got != want {
		d.t.Fatalf("%d callers wait for %s, want %d", got, lock, want)
	}
}

// Whoever waits is told at once that the gateway goes away, over every front, and
// streams say why they end.
func TestDrainTells(t *testing.T) {
	for _, holds := range []string{"keep", "release"} {
		t.Run(holds, func(t *testing.T) {
			d := startDrained(t, "--shutdown-holds", holds)
			_, holder := d.line("LOCK nightly")
			d.expect(holder, ":")
			_, waiter := d.line("LOCK nightly WAIT 60")
			web := make(chan *http.Response, 1)
			go func() { web <- d.request(http.MethodPut, "/v1/locks/nightly?wait=60") }()
			hold := d.request(http.MethodPost, "/v1/locks/hourly/hold", "Accept", "application/x-ndjson")
			queued := d.request(http.MethodPost, "/v1/locks/hourly/hold?wait=60", "Accept", "application/x-ndjson")
			d.waiters("nightly", 2)
			d.waiters("hourly", 1)

			d.signal()
			d.expect(waiter, "-DRAINING ")
			resp := <-web
			checkProblem(t, resp)
			body, err := io.ReadAll(hold.Body)
			if err != nil {
				t.Errorf("hold stream: %v", err)
			}
			lines := strings.Split(strings.TrimSpace(string(body)), "\n")
			want := map[string]string{"keep": `"code":"draining"`, "release": "the gateway was stopped"}[holds]
			if last := lines[len(lines)-1]; !strings.Contains(last, want) {
				t.Errorf("the stream of a hold ends with %q, want the reason", last)
			}
			body, err = io.ReadAll(queued.Body)
			if err != nil || !strings.Contains(string(body), `"code":"draining"`) {
				t.Errorf("the stream of one that waits was %q, %v; want it to end with draining", body, err)
			}
			e2e.WantExit(t, d.cmd, 0)
		})
	}
}

func checkProblem(t *testing.T, resp *http.Response) {
	t.Helper()
	var p struct{ Code string }
	err := json.NewDecoder(resp.Body).Decode(&p)
	if err != nil || resp.StatusCode != http.StatusServiceUnavailable || p.Code != "draining" || resp.Header.Get("Retry-After") == "" {
		t.Errorf("one that waits was told %d %q, %v, Retry-After %q; want 503 draining with a Retry-After",
			resp.StatusCode, p.Code, err, resp.Header.Get("Retry-After"))
	}
}

// shutdown.holds says what the store knows of a hold when the gateway has ended.
func TestDrainHolds(t *testing.T) {
	for _, tt := range []struct {
		holds string
		want  int64
	}{{"keep", 1}, {"release", 0}} {
		t.Run(tt.holds, func(t *testing.T) {
			store := redistest.Start(t)
			d := startDrained(t, "--backend-url", store.URL(), "--shutdown-holds", tt.holds)
			_, holder := d.line("LOCK nightly")
			d.expect(holder, ":")
			d.signal()
			e2e.WantExit(t, d.cmd, 0)
			n, err := store.Client().Exists(t.Context(), "nightly").Result()
			if err != nil || n != tt.want {
				t.Errorf("the store has %d locks of that name, %v; want %d", n, err, tt.want)
			}
		})
	}
}

// startStuck runs a gateway that cannot give back what is held, until it is told
// to stop.
func startStuck(t *testing.T, timeout string) (*drained, net.Conn, *bufio.Reader) {
	t.Helper()
	link := redistest.Proxy(t, redistest.Start(t).Addr)
	d := startDrained(t, "--backend-url", "redis://"+link.Addr, "--shutdown-holds", "release", "--shutdown-timeout", timeout)
	_, holder := d.line("LOCK nightly")
	d.expect(holder, ":")
	other, r := d.line("PING")
	d.expect(r, "+PONG")
	_, waiter := d.line("LOCK nightly WAIT 60")
	d.waiters("nightly", 1)
	link.Set(redistest.DropReplies)
	d.signal()
	d.expect(waiter, "-DRAINING ") // so it stops
	return d, other, r
}

// While the gateway stops it refuses what is new, over connections old and new,
// and it ends by the timeout.
func TestDrainRefuses(t *testing.T) {
	d, other, r := startStuck(t, "3s")
	d.send(other, "LOCK other")
	d.expect(r, "-DRAINING ")
	_, fresh := d.line("LOCK another")
	d.expect(fresh, "-DRAINING ")
	checkProblem(t, d.request(http.MethodPut, "/v1/locks/third"))
	e2e.WantExit(t, d.cmd, cli.ExitFailed)
	if !strings.Contains(d.err.String(), "the store has not confirmed every release") {
		t.Errorf("it has logged %q, want why it did not end well", d.err.String())
	}
}

// A second signal ends the process at once.
func TestDrainSecondSignal(t *testing.T) {
	d, _, _ := startStuck(t, "30s")
	ended := make(chan struct{})
	go func() {
		_ = d.cmd.Wait()
		close(ended)
	}()
	for again := true; again; { // the next one may come too soon to count
		_ = d.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
			again = false
		case <-time.After(cli.SameSignal):
		}
	}
	if status := d.cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v, want by SIGTERM", d.cmd.ProcessState)
	}
}
