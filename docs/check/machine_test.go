package check

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// machine is where the commands of one host run.
type machine struct {
	dir, name string
	apart     int // a process in its network namespace; 0: it is in ours
}

// systemctl stands in for systemd: it starts the gateway with the machine's configuration.
const systemctl = `#!/bin/sh
[ "$*" = "restart lockgw" ] || { echo "systemctl $*: not here" >&2; exit 1; }
[ -f gateway ] && { kill "$(cat gateway)"; while kill -0 "$(cat gateway)" 2>/dev/null; do sleep 0.05; done; }
lockgw serve > serve.log 2>&1 &
echo $! > gateway
until curl -fs -o /dev/null --unix-socket "$LOCKGW_SOCKET_DIR/http.sock" http://lockgw/readyz; do sleep 0.05; done
`

// aptGet stands in for the package manager: the program is there already, and what else
// the package brings is the directory of the configuration.
const aptGet = "#!/bin/sh\nmkdir -p \"$(dirname \"$LOCKGW_CONFIG\")\"\n"

func newMachine(t *testing.T, dir, name string, number int, apart bool) *machine {
	t.Helper()
	m := &machine{dir: dir, name: name}
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for program, text := range map[string]string{"systemctl": systemctl, "apt-get": aptGet} {
		if err := os.WriteFile(filepath.Join(dir, "bin", program), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if apart {
		m.apart = plug(t, number)
	}
	t.Cleanup(func() {
		if out, err := m.bash(`[ ! -f gateway ] || kill "$(cat gateway)"`).CombinedOutput(); err != nil {
			t.Errorf("end the gateway of %s: %v %s", name, err, out)
		}
	})
	return m
}

// plug makes a network namespace, joins it to the hub, and returns a process in it.
func plug(t *testing.T, number int) int {
	t.Helper()
	pid := start(t, "unshare", "--net", "sleep", "600")
	ns := fmt.Sprint(pid)
	ours, _ := os.Readlink("/proc/self/ns/net")
	if !until(func() bool {
		theirs, err := os.Readlink("/proc/" + ns + "/ns/net")
		return err == nil && theirs != ours
	}) {
		t.Fatal("unshare makes no network namespace")
	}
	here := fmt.Sprint("machine", number)
	must(t, "ip", "link", "add", here, "type", "veth", "peer", "name", "eth0", "netns", ns)
	must(t, "ip", "link", "set", here, "master", "hub", "up")
	for _, args := range [][]string{
		{"link", "set", "lo", "up"}, {"addr", "add", fmt.Sprintf("10.77.0.%d/24", 2+number), "dev", "eth0"}, {"link", "set", "eth0", "up"},
	} {
		must(t, "nsenter", append([]string{"--net=/proc/" + ns + "/ns/net", "ip"}, args...)...)
	}
	return pid
}

// here is a command with the files of this machine.
func (m *machine) here(code string) string {
	return strings.ReplaceAll("set -e\n"+code, "/etc/lockgw", m.dir+"/etc")
}

// bash is a script that runs on this machine, in a process group of its own.
func (m *machine) bash(script string) *exec.Cmd {
	args := []string{"bash", "-c", script}
	if m.apart != 0 {
		args = append([]string{"nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", m.apart)}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = m.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(os.Environ(), "PATH="+m.dir+"/bin:"+binDir+":"+os.Getenv("PATH"), "HOME="+m.dir, "LOCKGW_NODE="+m.name,
		"LOCKGW_CONFIG="+m.dir+"/etc/lockgw.yaml", "LOCKGW_SOCKET="+m.dir+"/run/resp.sock", "LOCKGW_SOCKET_DIR="+m.dir+"/run",
		"LOCKGW_STATE_DIR="+m.dir+"/state")
	if m.apart == 0 {
		cmd.Env = append(cmd.Env, "LOCKGW_HTTP_LISTEN=127.0.0.1:0")
	}
	return cmd
}

// start starts a program that ends with the test.
func start(t *testing.T, program string, args ...string) (pid int) {
	t.Helper()
	cmd := exec.Command(program, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

func must(t *testing.T, program string, args ...string) {
	t.Helper()
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v %s", program, args, err, out)
	}
}

// endGroup ends a process and what it has started.
func endGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	_ = cmd.Wait()
}
