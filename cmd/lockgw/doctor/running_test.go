package doctor

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/redis/examine"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
)

// shortDir is for sockets, whose paths have at most 107 bytes.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "doctor")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// answering is a gateway that gives these answers, by path.
func answering(t *testing.T, answers map[string]string) cli.Gateway {
	t.Helper()
	dir := shortDir(t)
	ln, err := net.Listen("unix", filepath.Join(dir, cli.HTTPSocket))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, body, _ := strings.Cut(answers[r.URL.Path], " ")
		code := http.StatusOK
		if _, err := fmt.Sscan(status, &code); err != nil {
			t.Errorf("%s was asked for", r.URL)
		}
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	})}
	go func() { _ = server.Serve(ln) }()
	t.Cleanup(func() { _ = server.Close() })
	return cli.Gateway{Socket: filepath.Join(dir, cli.RespSocket)}
}

func levelOf(t *testing.T, found []finding, check string) finding {
	t.Helper()
	for _, f := range found {
		if f.Check == check {
			return f
		}
	}
	t.Fatalf("found %+v, want something about %s", found, check)
	return finding{}
}

const version = `200 {"version":"v1","node":"host-a","store":"redlock://h1,h2,h3","reach":"every machine"}`

// What is ready in part, such as a redlock with a server down, is not ok.
func TestReadyInPartIsNotOK(t *testing.T) {
	g := answering(t, map[string]string{
		"/version":         version,
		"/readyz":          `200 {"status":"ready","checks":[{"name":"store","ok":true,"detail":"1 of 3 servers is down"},{"name":"serving","ok":true}]}`,
		"/v1/admin/doctor": `200 {"node":"host-a","config":{"backend.url":{"value":"memory://","origin":"default"}},"findings":[{"level":"fail","check":"eviction","detail":"d","mend":"m"}]}`,
	})
	found := askGateway(t.Context(), g, config.Settings{Config: config.Default()})
	wantLevel(t, levelOf(t, found, "gateway"), examine.OK, "redlock://h1,h2,h3")
	wantLevel(t, levelOf(t, found, "store"), examine.Warn, "1 of 3")
	wantLevel(t, levelOf(t, found, "serving"), examine.OK, "ready")
	wantLevel(t, levelOf(t, found, "configuration"), examine.OK, "memory://")
	wantLevel(t, levelOf(t, found, "eviction"), examine.Fail, "m")
}

// A quarantine fails, with its end; whoever is no administrator is told no more, and nothing
// of another configuration in place of it.
func TestQuarantineFails(t *testing.T) {
	const quarantine = "new locks from 07:53:49Z"
	g := answering(t, map[string]string{
		"/version":         version,
		"/readyz":          `503 {"code":"unavailable","detail":"x","checks":[{"name":"store","ok":false,"detail":"` + quarantine + `"}]}`,
		"/v1/admin/doctor": `403 {"code":"forbidden","detail":"only an administrator may"}`,
	})
	found := askGateway(t.Context(), g, config.Settings{Config: config.Default()})
	wantLevel(t, levelOf(t, found, "store"), examine.Fail, quarantine)
	wantLevel(t, levelOf(t, found, "configuration"), examine.Warn, "as root")
	if len(found) != 4 { // with the socket of commands, which is not there
		t.Errorf("found %+v, want four things", found)
	}
}

// A gateway that is there and does not answer is no gateway that is not there.
func TestHungGatewayFails(t *testing.T) {
	dir := shortDir(t)
	hung, err := net.Listen("unix", filepath.Join(dir, cli.HTTPSocket)) // it takes connections, and answers none
	if err != nil {
		t.Fatal(err)
	}
	defer hung.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	found := askGateway(ctx, cli.Gateway{Socket: filepath.Join(dir, cli.RespSocket)}, config.Settings{Config: config.Default()})
	wantLevel(t, levelOf(t, found, "gateway"), examine.Fail, "does not answer")
}

// Another path than that of a socket says nothing about whether a gateway runs.
func TestNoSocketIsNamed(t *testing.T) {
	found := askGateway(t.Context(), cli.Gateway{Socket: t.TempDir()}, config.Settings{Config: config.Default()})
	f := levelOf(t, found, "gateway")
	wantLevel(t, f, examine.Fail, "is no socket")
	wantLevel(t, f, examine.Fail, "name the resp.sock of the gateway")
}

func TestNoGatewayRuns(t *testing.T) {
	c := config.Default()
	c.Socket.Dir, c.StateDir = t.TempDir(), t.TempDir()
	for _, dir := range []string{c.Socket.Dir, c.StateDir} { // whatever the umask is
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	found := askGateway(t.Context(), cli.Gateway{Socket: filepath.Join(t.TempDir(), cli.RespSocket)}, config.Settings{Config: c})
	wantLevel(t, levelOf(t, found, "gateway"), examine.Warn, "none runs here")
	wantLevel(t, levelOf(t, found, "socket.dir"), examine.OK, c.Socket.Dir)
}
