// Package interop proves that other programs and lockgw callers exclude and wake
// each other on the same Redis: Java with Redisson, and the libraries that lock
// by SET NX PX. run.sh prepares the programs and runs it; make interop calls that.
package interop

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	programs   = flag.String("programs", "", "directory in which run.sh has prepared the other programs")
	page       = flag.String("page", "", "write the matrix to this file if nothing fails")
	modes      = flag.String("modes", "single,events,sentinel,cluster,redlock", "kinds of Redis to run")
	only       = flag.String("only", "", "run only the programs whose name contains this")
	gatewayAt  = flag.String("lockgw", "", "path of the lockgw program (default: build it)")
	wakings    = flag.Int("wakings", 5, "how often a wake-up is measured")
	operations = flag.Int("operations", 20_000, "additions to one counter, of Java and of gateways' callers together")
)

// program is another client of the same locks.
type program struct {
	name     string // with its version
	kind     string // the type of lock, where the library has several
	command  []string
	redisson bool // else it locks by a string key
	modes    []string
	family   family
}

// family says which rows of the matrix a program has.
type family int

const (
	oneLock    family = iota // each row is about its one type of lock
	otherTypes               // each row is about another type of lock
	overQuorum               // a lock over several servers that know nothing of each other
)

func (p program) title() string { return strings.TrimSpace(p.name + " " + p.kind) }

// allPrograms, as run.sh leaves them in dir.
func allPrograms(dir string) []program {
	java := func(version string) []string {
		return []string{"java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(dir, version, "classes") + ":" + read(filepath.Join(dir, version, "classpath")), "Peer"}
	}
	redisson := []string{"single", "sentinel", "cluster"}
	single := []string{"single", "events"}
	client := filepath.Join(dir, "go")
	all := []program{
		{"redis-py 8.1.0 Lock", "", []string{filepath.Join(dir, "python", "bin", "python"), "testdata/python/peer.py"}, false, single, oneLock},
		{"node-redlock 5.0.0-beta.2", "", []string{"node", filepath.Join(dir, "node", "peer.mjs")}, false, single, oneLock},
		{"redsync 4.18.1", "", []string{client, "redsync"}, false, single, oneLock},
		{"bsm/redislock 0.9.4", "", []string{client, "redislock"}, false, single, oneLock},
	}
	for _, v := range []struct{ name, dir string }{{"Redisson 3.52.0", "redisson-3"}, {"Redisson 4.7.0", "redisson-4"}} {
		all = append(all,
			program{v.name, "RLock", java(v.dir), true, redisson, oneLock},
			program{v.name, "RFencedLock", java(v.dir), true, redisson, oneLock},
			program{v.name, "", java(v.dir), true, []string{"single"}, otherTypes},
			program{v.name, "RedissonRedLock", java(v.dir), true, []string{"redlock"}, overQuorum},
			program{v.name, "RedissonMultiLock", java(v.dir), true, []string{"redlock"}, overQuorum})
	}
	return all
}

func read(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error() // where it will be seen
	}
	return strings.TrimSpace(string(text))
}

func TestInterop(t *testing.T) {
	if *programs == "" {
		t.Skip("needs Java, Python and Node: make interop")
	}
	watchMachine(t)
	var m matrix
	binary := build(t)
	for _, mode := range strings.Split(*modes, ",") {
		t.Run(mode, func(t *testing.T) {
			s := startStore(t, mode)
			nodes := startNodes(t, binary, s)
			for _, p := range allPrograms(*programs) {
				if slices.Contains(p.modes, mode) && strings.Contains(p.title(), *only) {
					t.Run(p.title(), func(t *testing.T) { runColumn(t, &m, column{program: p, store: s, nodes: nodes}) })
				}
			}
		})
	}
	t.Logf("\n%s", m.text())
	if *page != "" && !t.Failed() {
		if err := os.WriteFile(*page, []byte(m.page()), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// runColumn runs every case that p is for; those that keep the machine busy come
// last, and alone.
func runColumn(t *testing.T, m *matrix, c column) {
	c.peer = startPeer(t, c.command, c.store)
	t.Run("cases", func(t *testing.T) {
		for _, k := range cases {
			if k.suits(c.program) && !k.alone {
				t.Run(k.id, func(t *testing.T) {
					t.Parallel()
					m.run(t, c, k)
				})
			}
		}
	})
	for _, k := range cases {
		if k.suits(c.program) && k.alone {
			t.Run(k.id, func(t *testing.T) { m.run(t, c, k) })
		}
	}
}
