package check

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// node stands for a machine of the cluster: it runs containers of a rendered pod
// as processes, with the directories, users and variables that the pod says.
type node struct {
	t    *testing.T
	bin  string // with the programs of the image
	root string // what the volumes are in
}

func newNode(t *testing.T) *node {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to run containers as other users")
	}
	// Not t.TempDir: the other users have to get through it.
	dir, err := os.MkdirTemp("", "chart")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	n := &node{t: t, bin: filepath.Join(dir, "bin")}
	for _, d := range []string{dir, n.bin} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	n.build("../..", "lockgw", "./cmd/lockgw")
	n.build("../../deploy/docker/probe", "lockgw-probe", ".")
	return n
}

func (n *node) build(dir, name, pkg string) {
	n.t.Helper()
	cmd := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(n.bin, name), pkg)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		n.t.Fatalf("build %s: %v\n%s", name, err, out)
	}
}

// place puts paths of the pod where they are on this machine.
func (n *node) place(text string) string {
	for _, dir := range []string{"/run/lockgw", "/var/lib/lockgw", "/etc/lockgw", secrets} {
		text = strings.ReplaceAll(text, dir, n.root+dir)
	}
	return strings.ReplaceAll(text, "/usr/bin/", n.bin+"/")
}

// volume makes a directory as the kubelet does.
func (n *node) volume(path string, mode os.FileMode) {
	n.t.Helper()
	path = n.root + path
	if err := os.MkdirAll(path, 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) write(path, text string) {
	n.t.Helper()
	n.volume(filepath.Dir(path), 0o755)
	if err := os.WriteFile(n.root+path, []byte(n.place(text)), 0o644); err != nil {
		n.t.Fatal(err)
	}
}

// command is a process of a container.
func (n *node) command(c corev1.Container, groups []int64, args ...string) *exec.Cmd {
	cmd := exec.Command(n.place(args[0]))
	for _, arg := range args[1:] {
		cmd.Args = append(cmd.Args, n.place(arg))
	}
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	var earlier []string // $(NAME) and what the kubelet puts there
	for _, e := range c.Env {
		value := strings.NewReplacer(earlier...).Replace(e.Value)
		switch e.Name {
		case "LOCKGW_BACKEND_URL":
			value = "memory://"
		case "LOCKGW_NODE":
			value = "pod-or-node"
		case "POD_IP":
			value = "10.1.2.3"
		}
		earlier = append(earlier, "$("+e.Name+")", value)
		cmd.Env = append(cmd.Env, e.Name+"="+n.place(value))
	}
	s := c.SecurityContext
	who := &syscall.Credential{Uid: uint32(*s.RunAsUser), Gid: uint32(*s.RunAsGroup)}
	for _, g := range groups {
		who.Groups = append(who.Groups, uint32(g))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
	return cmd
}

// succeed runs a command of the image until it does, as probes are repeated.
func (n *node) succeed(c corev1.Container, groups []int64, args ...string) {
	n.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		out, err := n.command(c, groups, args...).CombinedOutput()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			n.t.Fatalf("%q: %v\n%s", args, err, out)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// start runs the gateway's container until the test ends, and waits for its
// startup probe. Port 7420 of this machine may be in use, so it takes another.
func (n *node) start(c corev1.Container, config any, listen string) (log string) {
	n.t.Helper()
	n.write("/etc/lockgw/lockgw.yaml", config.(*corev1.ConfigMap).Data["lockgw.yaml"])
	log = n.root + "/gateway.log"
	out, err := os.Create(log)
	if err != nil {
		n.t.Fatal(err)
	}
	cmd := n.command(c, nil, append(append([]string{"/usr/bin/lockgw"}, c.Args...), "--http-listen="+listen)...)
	cmd.Stderr = out
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	t := n.t
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil || t.Failed() {
			text, _ := os.ReadFile(log)
			t.Errorf("the gateway ended with %v:\n%s", err, text)
		}
		out.Close()
	})
	n.succeed(c, nil, c.StartupProbe.Exec.Command...)
	n.succeed(c, nil, c.LivenessProbe.Exec.Command...)
	return log
}

// emptyDirs are volumes as the kubelet makes them.
func (n *node) emptyDirs() {
	n.volume("/run/lockgw", 0o777)
	n.volume("/var/lib/lockgw", 0o777)
}

// prepare makes the directories of a node as the kubelet does, and then what the
// init container does with them.
func (n *node) prepare(c corev1.Container) {
	n.t.Helper()
	n.volume("/run/lockgw", 0o755)
	n.volume("/var/lib/lockgw", 0o755)
	args := strings.Fields(n.place(strings.Join(c.Command, " ")))
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		n.t.Fatalf("%q: %v\n%s", args, err, out)
	}
}

// The gateway runs with what the chart renders: users and directories fit, its
// probes succeed, and the container of `helm test` gets its lock.
func TestRun(t *testing.T) {
	n := newNode(t)
	t.Run("sidecar", func(t *testing.T) {
		n := n.at(t, "sidecar")
		objects := rendered(t, "sidecar")
		pod := objects["Test"].(*corev1.Pod).Spec
		n.emptyDirs()
		n.start(*gateway(pod), objects["ConfigMap"], "127.0.0.1:0")
		n.succeed(pod.Containers[0], nil, append([]string{"/usr/bin/lockgw"}, pod.Containers[0].Args...)...)
	})
	t.Run("daemonset", func(t *testing.T) {
		n := n.at(t, "daemonset")
		objects, pod := rendered(t, "daemonset"), pods(t)["daemonset"]
		n.prepare(pod.InitContainers[0])
		n.start(*gateway(pod), objects["ConfigMap"], "127.0.0.1:0")
		test := objects["Test"].(*corev1.Pod).Spec
		client := test.Containers[0]
		n.succeed(client, test.SecurityContext.SupplementalGroups, append([]string{"/usr/bin/lockgw"}, client.Args...)...)
		if out, err := n.command(client, nil, "/usr/bin/lockgw", "status").CombinedOutput(); err == nil {
			t.Errorf("a pod without the group of the sockets is let in:\n%s", out)
		}
	})
	t.Run("deployment", func(t *testing.T) {
		n := n.at(t, "deployment")
		objects, pod := rendered(t, "deployment"), pods(t)["deployment"]
		const name = "one-lockgw.locks.svc"
		client := n.certificates(name)
		n.emptyDirs()
		log := n.start(*gateway(pod), objects["ConfigMap"], ":0")
		port := portOf(t, log)
		if got, err := ask(client, name, port); err != nil || got != http.StatusOK {
			t.Errorf("with a certificate: %d, %v; want 200", got, err)
		}
		if got, err := ask(client, "elsewhere.locks.svc", port); err != nil || got != http.StatusMisdirectedRequest {
			t.Errorf("for another host: %d, %v; want 421", got, err)
		}
		client.Certificates = nil
		if got, err := ask(client, name, port); err == nil {
			t.Errorf("without a certificate: %d, want a refusal", got)
		}
	})
}

// at is the node with volumes of its own for a part of the test.
func (n *node) at(t *testing.T, part string) *node {
	return &node{t: t, bin: n.bin, root: filepath.Join(filepath.Dir(n.bin), part)}
}
