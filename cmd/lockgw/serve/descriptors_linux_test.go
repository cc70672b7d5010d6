package serve

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// Clients that take all descriptors would keep the gateway from its store, and take
// from everybody else what they hold.
func TestDescriptorsAreKeptBack(t *testing.T) {
	const most = 120
	store := redistest.Start(t)
	d := startDrained(t, "--backend-url", store.URL())
	holder, held := d.line("LOCK a")
	d.expect(held, ":")
	binder, bound := d.line("PING")
	d.expect(bound, "+PONG")
	if err := unix.Prlimit(d.cmd.Process.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: most, Max: most}, nil); err != nil {
		t.Fatal(err)
	}
	sleep := exec.Command("sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleep.Process.Kill(); _ = sleep.Wait() }()

	for _, way := range []struct{ socket, request, refusal string }{
		{cli.HTTPSocket, "GET /v1/locks HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 429"},
		{cli.RespSocket, "PING\r\n", "-BUSY the gateway has no file descriptor left"},
	} {
		conns := d.crowd(way.socket, way.request, way.refusal, most)
		d.send(binder, "SESSION NEW BIND pid:"+strconv.Itoa(sleep.Process.Pid))
		d.expect(bound, "-BUSY the gateway has no file descriptor left")
		client := store.Client()
		if err := client.ClientKillByFilter(t.Context(), "TYPE", "normal").Err(); err != nil {
			t.Fatal(err)
		}
		client.Close()
		e2e.Until(func() bool {
			d.send(holder, "RENEW a")
			return strings.HasPrefix(d.answer(held), ":")
		})
		d.send(holder, "RENEW a")
		d.expect(held, ":")
		for _, c := range conns {
			c.Close()
		}
		e2e.Until(func() bool { return d.descriptors() < most/2 })
	}
}

// crowd makes connections until one is refused.
func (d *drained) crowd(socket, request, refusal string, most int) (conns []net.Conn) {
	d.t.Helper()
	for len(conns) < 2*most {
		c, err := net.Dial("unix", d.path(socket))
		if err != nil {
			d.t.Fatal(err)
		}
		d.t.Cleanup(func() { c.Close() })
		conns = append(conns, c)
		_ = c.SetDeadline(time.Now().Add(e2e.Patience))
		_, _ = c.Write([]byte(request)) // one that is refused may be closed by now
		if line, _ := bufio.NewReader(c).ReadString('\n'); strings.HasPrefix(line, refusal) {
			return conns
		}
	}
	d.t.Errorf("%s: %d connections beside a limit of %d descriptors, want a refusal %s", socket, len(conns), most, refusal)
	return conns
}

// descriptors is how many the gateway has.
func (d *drained) descriptors() int {
	d.t.Helper()
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(d.cmd.Process.Pid) + "/fd")
	if err != nil {
		d.t.Fatal(err)
	}
	return len(entries)
}
