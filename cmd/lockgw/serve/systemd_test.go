package serve

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// systemd keeps listening sockets, passes them to gateways, and hears what these
// tell, by the protocols of the real one.
type systemd struct {
	t       *testing.T
	dir     string
	sockets []net.Listener
	names   []string
	notify  *net.UnixConn
}

func newSystemd(t *testing.T) *systemd {
	t.Helper()
	s := &systemd{t: t, dir: e2e.ShortDir(t)}
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(s.dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { notify.Close() })
	s.notify = notify
	return s
}

// listen opens a socket that gateways started later get under that name.
func (s *systemd) listen(name, network, address string) (addr string) {
	s.t.Helper()
	ln, err := net.Listen(network, address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { ln.Close() })
	s.sockets, s.names = append(s.sockets, ln), append(s.names, name)
	return ln.Addr().String()
}

// listenAll opens what the units in deploy/systemd have.
func (s *systemd) listenAll() (web, resp, tcp string) {
	return s.listen(passedHTTP, "unix", filepath.Join(s.dir, cli.HTTPSocket)),
		s.listen(passedRESP, "unix", filepath.Join(s.dir, cli.RespSocket)),
		s.listen(passedTCP, "tcp", "127.0.0.1:0")
}

// start runs a gateway with the sockets. env are further variables.
func (s *systemd) start(env []string, args ...string) *exec.Cmd {
	s.t.Helper()
	cmd := exec.Command("sh", append([]string{"-c", `LISTEN_PID=$$ exec lockgw serve "$@"`, "sh"}, args...)...)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "LOCKGW_SOCKET_DIR="+s.dir, "LOCKGW_STATE_DIR="+s.dir+"/state", "LOCKGW_HTTP_LISTEN=",
		"NOTIFY_SOCKET="+s.notify.LocalAddr().String(), "LISTEN_FDS="+strconv.Itoa(len(s.sockets)), "LISTEN_FDNAMES="+strings.Join(s.names, ":"))
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = s.t.Output()
	for _, ln := range s.sockets {
		f, err := ln.(interface{ File() (*os.File, error) }).File()
		if err != nil {
			s.t.Fatal(err)
		}
		defer f.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd
}

// stop ends a gateway, which has to end well.
func (s *systemd) stop(cmd *exec.Cmd) {
	s.t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	s.ended(cmd)
}

// ended waits for the end of a gateway, and reads what it tells until then: the kernel keeps ten
// messages for who does not read, and the gateway would wait to send the next.
func (s *systemd) ended(cmd *exec.Cmd) {
	s.t.Helper()
	forever, now := time.Time{}, time.Now()
	if err := s.notify.SetReadDeadline(forever); err != nil {
		s.t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for b := make([]byte, 4096); ; {
			if _, err := s.notify.Read(b); err != nil {
				return
			}
		}
	}()
	e2e.WantExit(s.t, cmd, 0)
	_ = s.notify.SetReadDeadline(now)
	<-read
}

// heard is the next message.
func (s *systemd) heard() []string {
	s.t.Helper()
	b := make([]byte, 4096)
	if err := s.notify.SetReadDeadline(time.Now().Add(e2e.Patience)); err != nil {
		s.t.Fatal(err)
	}
	n, err := s.notify.Read(b)
	if err != nil {
		s.t.Fatalf("nothing was told: %v", err)
	}
	return strings.Split(string(b[:n]), "\n")
}

// await waits for a message with a line, and returns it and those before it.
func (s *systemd) await(line string) (messages [][]string) {
	s.t.Helper()
	for end := time.Now().Add(e2e.Patience); time.Now().Before(end); {
		messages = append(messages, s.heard())
		if slices.Contains(messages[len(messages)-1], line) {
			return messages
		}
	}
	s.t.Fatalf("%q was not told, but %q", line, messages)
	return nil
}
