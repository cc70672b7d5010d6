package check

import (
	"crypto/rand"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// patience is how long a block, or a gateway's start, may take.
const patience = time.Minute

// place is where the commands of one page run: a directory, a gateway of the
// page's own, and a Redis behind it where the page speaks of one. The addresses
// of the page lead there.
type place struct {
	dir     string
	redis   *redistest.Server // nil: the embedded store
	address string            // of the gateway's HTTP over TCP
	ports   map[string]string // free ones for those that a page has its own servers on
}

// open starts what the page needs. It ends with the test.
func open(t *testing.T, withRedis bool) *place {
	t.Helper()
	dir, err := os.MkdirTemp("", "docs-") // short: the path of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &place{dir: dir, ports: map[string]string{}}
	for _, port := range []string{"6390", "7421", "7422"} {
		p.ports[port] = freePort(t)
	}
	p.write(t, "backup.sh", "#!/bin/sh\necho backing up\n")
	if modules := os.Getenv("NODE_PATH"); modules != "" { // which import does not look at
		_ = os.Symlink(modules, filepath.Join(dir, "node_modules"))
	}
	if err := os.Mkdir(filepath.Join(dir, "etc"), 0o700); err != nil {
		t.Fatal(err)
	}
	args := []string{
		"serve", "--http-listen", "127.0.0.1:0", "--socket-dir", dir + "/run", "--state-dir", dir + "/state", "--node", "host-a",
		"--admin-token-file", p.write(t, "etc/admin.token", rand.Text()+rand.Text()),
	}
	if withRedis {
		p.redis = redistest.Start(t)
		args = append(args, "--backend-url", p.redis.URL())
	}
	p.serve(t, args)
	return p
}

func (p *place) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil { // a program, or a secret
		t.Fatal(err)
	}
	return path
}

// serve starts the gateway and waits until it says that it serves.
func (p *place) serve(t *testing.T, args []string) {
	t.Helper()
	log, err := os.Create(filepath.Join(p.dir, "serve.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(binDir, "lockgw"), args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	serving := func() bool {
		text, _ := os.ReadFile(log.Name())
		for line := range strings.Lines(string(text)) {
			var said struct {
				Msg  string
				HTTP []string
			}
			if json.Unmarshal([]byte(line), &said) == nil && said.Msg == "serving" && len(said.HTTP) > 0 {
				p.address = said.HTTP[0]
			}
		}
		return p.address != ""
	}
	if !until(serving) {
		text, _ := os.ReadFile(log.Name())
		t.Fatalf("the gateway did not start in %v:\n%s", patience, text)
	}
}

// until waits for ok, and says whether it came.
func until(ok func() bool) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return true
		}
	}
	return false
}

var redisCLI = regexp.MustCompile(`\bredis-cli (--raw |[^-])`)

// here is a block's code with the addresses of this place.
func (p *place) here(code string) string {
	pairs := []string{
		"/etc/lockgw", p.dir + "/etc", "/var/lib/lockgw", p.dir + "/state", "/run/lockgw", p.dir + "/run", "localhost:7420", p.address, "127.0.0.1:7420", p.address,
		"/tmp/", p.dir + "/", "/usr/bin/lockgw", binDir + "/lockgw", "/usr/local/bin/backup.sh", p.dir + "/backup.sh",
		`"localhost", 7420`, strings.Replace(`"`+p.address, ":", `", `, 1),
	}
	for port, free := range p.ports {
		pairs = append(pairs, port, free)
	}
	code = strings.NewReplacer(pairs...).Replace(code)
	if p.redis != nil {
		code = redisCLI.ReplaceAllString(code, "redis-cli -s "+p.redis.Socket+" $1")
	}
	return code
}

// env keeps a command that names no gateway from any other than this page's.
func (p *place) env() []string {
	return append(os.Environ(), "PATH="+binDir+":"+os.Getenv("PATH"), "HOME="+p.dir, "TZ=UTC",
		"FAKETTY=1", // redis-cli prints as on a terminal
		"LOCKGW_SOCKET="+p.dir+"/run/resp.sock", "LOCKGW_SOCKET_DIR="+p.dir+"/run",
		"LOCKGW_STATE_DIR="+p.dir+"/state", "LOCKGW_HTTP_LISTEN=127.0.0.1:0")
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
