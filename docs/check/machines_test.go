package check

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The two machines of the pages.
const hostA, hostB = "host-a", "host-b"

// storeHost is the Redis of the pages that both machines reach.
const storeHost = "redis.example.net"

// isSetup: the block makes a gateway of a machine one of many.
func isSetup(b block) bool { return b.lang == "sh" && strings.Contains(b.code, storeHost) }

// severalMachines are the pages by which somebody sets up many machines. Other pages
// about locks lead to two-machines.md.
var severalMachines = []string{
	"README.md", "docs/howto/two-machines.md", "docs/howto/cron.md", "docs/howto/systemd-timer.md", "docs/install.md", "docs/run.md", "docs/systemd.md",
}

// Without a store that all machines reach nothing is excluded, and nothing fails: each
// page that somebody may begin with begins with that.
func TestStoreComesFirst(t *testing.T) {
	for _, page := range pages(t) {
		text := read(t, page)
		switch {
		case slices.Contains(severalMachines, page):
			setup := slices.IndexFunc(blocksOf(text), isSetup)
			if setup < 0 || !slices.ContainsFunc(blocksOf(text), func(b block) bool { return b.lang == "machines" }) {
				t.Errorf("%s: want a block with %s, and one that tries it on %s and %s", page, storeHost, hostA, hostB)
			}
		case strings.HasPrefix(page, "docs/howto/") && !strings.Contains(text, "(two-machines.md)"):
			t.Errorf("%s has no link to two-machines.md", page)
		}
	}
}

// TestTwoMachines sets up two machines as each of those pages says, and does there what
// it says: the second one is refused, and the jobs of both do not overlap. A machine is a
// network namespace with a loopback interface of its own; where none can be made, it is
// a gateway with directories of its own.
func TestTwoMachines(t *testing.T) {
	if os.Getenv("CHECK_MACHINES") != "" {
		checkMachines(t, true)
		return
	}
	namespace := []string{"unshare", "--net"}
	if os.Geteuid() != 0 {
		namespace = []string{"unshare", "--user", "--map-root-user", "--net"}
	}
	probe := slices.Concat(namespace, []string{"ip", "link", "set", "lo", "up"})
	if out, err := exec.Command(probe[0], probe[1:]...).CombinedOutput(); err != nil {
		t.Logf("%q: %v: %s; two gateways on this machine stand for two machines", probe, err, out)
		checkMachines(t, false)
		return
	}
	again := slices.Concat(namespace, []string{os.Args[0], "-test.run=^TestTwoMachines$", "-test.v"})
	cmd := exec.CommandContext(t.Context(), again[0], again[1:]...)
	cmd.Env = append(os.Environ(), "CHECK_MACHINES=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestTwoMachines") {
		t.Errorf("%q: %v\n%s", again, err, out)
	}
}

func checkMachines(t *testing.T, apart bool) {
	n := connect(t, apart)
	for _, page := range severalMachines {
		t.Run(page, func(t *testing.T) { n.checkPage(t, read(t, page)) })
	}
}

// network is two machines and the store.
type network struct {
	machines map[string]*machine
	store    string // its address
	shared   string // a directory that both see, for the jobs
}

func connect(t *testing.T, apart bool) *network {
	t.Helper()
	dir, err := os.MkdirTemp("", "net-") // short: the path of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	n := &network{machines: map[string]*machine{}, shared: filepath.Join(dir, "shared")}
	bind := "127.0.0.1"
	if apart {
		bind = "10.77.0.1"
		must(t, "ip", "link", "set", "lo", "up")
		must(t, "ip", "link", "add", "hub", "type", "bridge")
		must(t, "ip", "addr", "add", bind+"/24", "dev", "hub")
		must(t, "ip", "link", "set", "hub", "up")
	}
	port := freePort(t)
	n.store = net.JoinHostPort(bind, port)
	start(t, "redis-server", "--bind", bind, "--protected-mode", "no", "--port", port, "--dir", dir, "--appendonly", "yes")
	if !until(func() bool { return exec.Command("redis-cli", "-h", bind, "-p", port, "ping").Run() == nil }) {
		t.Fatalf("no Redis at %s", n.store)
	}
	for i, name := range []string{hostA, hostB} {
		n.machines[name] = newMachine(t, filepath.Join(dir, name), name, i, apart)
	}
	if err := os.Mkdir(n.shared, 0o700); err != nil {
		t.Fatal(err)
	}
	return n
}

// checkPage does what the page says, from the top.
func (n *network) checkPage(t *testing.T, text string) {
	blocks := blocksOf(text)
	setup := blocks[slices.IndexFunc(blocks, isSetup)]
	for _, name := range []string{hostA, hostB} {
		m := n.machines[name]
		if err := os.RemoveAll(filepath.Join(m.dir, "etc")); err != nil { // as where lockgw never was
			t.Fatal(err)
		}
		// With a umask of 0 lockgw warns first of a configuration that everybody may write.
		out, err := m.bash("umask 022\n" + m.here(strings.ReplaceAll(setup.code, storeHost+":6379", n.store))).CombinedOutput()
		if first, _, _ := strings.Cut(string(out), "\n"); err != nil || !strings.Contains(first, n.store+", every machine") {
			t.Fatalf("%s: %s: %v, want the store and its reach in the first line\n%s", name, setup.code, err, out)
		}
	}
	n.try(t, blocks[slices.IndexFunc(blocks, func(b block) bool { return b.lang == "machines" })])
	if job := jobOf(blocks); job != "" {
		n.runJobs(t, job)
	}
}

// try does what a block of machines says: host-a takes a lock, and host-b is refused.
func (n *network) try(t *testing.T, b block) {
	t.Helper()
	command := func(host string) (command, output string) {
		_, rest, _ := strings.Cut(b.code, host+"$ ")
		command, output, _ = strings.Cut(rest, "\n")
		return command, output
	}
	first, _ := command(hostA)
	holder := n.machines[hostA].bash(strings.TrimSuffix(first, "&"))
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer endGroup(holder)
	if !until(func() bool { out, _ := n.machines[hostA].bash("lockgw ls -o name").Output(); return len(out) > 0 }) {
		t.Fatalf("%s does not hold a lock", hostA)
	}
	second, want := command(hostB)
	if out, _ := n.machines[hostB].bash(second).CombinedOutput(); !looksLike(string(out), want) {
		t.Errorf("%s$ %s\nprinted\n%s\nwant\n%s", hostB, second, out, want)
	}
}

var jobLine = regexp.MustCompile(`lockgw run \S+ [^\n]*?-- `)

// jobOf is the first job that a page runs under a lock, up to its command.
func jobOf(blocks []block) string {
	for _, b := range blocks {
		if b.lang != "machines" && jobLine.MatchString(b.code) {
			return jobLine.FindString(b.code)
		}
	}
	return ""
}

// runJobs runs it on both machines at once.
func (n *network) runJobs(t *testing.T, job string) {
	t.Helper()
	script := strings.ReplaceAll(job, "--min-hold 1m", "--min-hold 1s") + `sh -c '
		cd ` + n.shared + `; echo x >> runs
		mkdir inside || { touch overlap; exit 1; }
		sleep 0.5; rmdir inside'`
	var all []*exec.Cmd
	for range 2 {
		for _, name := range []string{hostA, hostB} {
			cmd := n.machines[name].bash(script)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			all = append(all, cmd)
		}
	}
	for _, cmd := range all {
		_ = cmd.Wait() // who does not get the lock may end with 75
	}
	runs, _ := os.ReadFile(filepath.Join(n.shared, "runs"))
	if _, err := os.Stat(filepath.Join(n.shared, "overlap")); err == nil || len(runs) == 0 {
		t.Errorf("%s...: %d runs, two at once: %v; want some, one at a time", job, len(runs)/2, err == nil)
	}
	for _, file := range []string{"runs", "overlap", "inside"} {
		_ = os.Remove(filepath.Join(n.shared, file))
	}
}
