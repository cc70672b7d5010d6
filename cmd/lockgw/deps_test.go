package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/lockgw/lockgw"

// A rule says what the packages that match pkg may import.
type rule struct {
	pkg string // "session": this package; "backend/": what lies below it; the longest match counts
	// ours are the packages of this module that it may import, in the same
	// notation. A store may also import what lies below itself.
	ours []string
	// closed: of other modules it reaches nothing but theirs, directly or not.
	closed bool
	theirs []string
	why    string
}

var rules = []rule{
	{
		pkg: "backend", closed: true,
		why: "every store and the core are written against it, so it drags nothing in",
	},
	{
		pkg: "backend/", ours: []string{"backend", "backend/boottime", "backend/dialer", "backend/eager", "backend/gate", "backend/ledger", "backend/quorum", "backend/selftest", "backend/sqltable"},
		why: "a store answers one question at a time and knows no sessions, no other store and no front",
	},
	{
		pkg: "backend/ledger", ours: []string{"backend", "backend/jsontext"}, closed: true,
		why: "the rules of a lock are pure: what is not here cannot decide who holds",
	},
	{
		pkg: "backend/jsontext", closed: true,
		why: "how JSON is spelled has nothing to do with what it says",
	},
	{
		pkg: "backend/boottime", closed: true, theirs: []string{"golang.org/x/sys"},
		why: "the clock of deadlines is the same for stores, the core and commands",
	},
	{
		pkg: "backend/dialer", closed: true, theirs: []string{"golang.org/x/sys"},
		why: "how a store that vanishes is noticed is the same for all of them",
	},
	{
		pkg: "backend/eager", closed: true,
		why: "how a read waits for its data is the same whatever the data are",
	},
	{
		pkg: "backend/selftest", ours: []string{"backend", "backend/ledger"}, closed: true,
		why: "what a store must not do is the same for all of them, so this names none",
	},
	{
		pkg: "backend/quorum", ours: []string{"backend", "backend/boottime", "backend/dialer", "backend/ledger"}, closed: true, theirs: []string{"golang.org/x/sys"},
		why: "what etcd and ZooKeeper have in common is known without a client of either",
	},
	{
		pkg: "backend/quorum/quorumtest", ours: []string{"backend", "backend/ledger", "backend/servertest"}, closed: true, theirs: []string{"golang.org/x/sys"},
		why: "what tests of tables over etcd and ZooKeeper have in common is known without either, as tabletest",
	},
	{
		pkg: "backend/sqltable", ours: []string{"backend", "backend/ledger", "backend/selftest"}, closed: true,
		why: "what tables over SQL have in common is the same for each database, so this names none",
	},
	{
		pkg: "backend/sqltable/sqltest", ours: []string{"backend", "backend/ledger"}, closed: true,
		why: "what tests of tables over SQL have in common is the same for each database, as tabletest",
	},
	{
		pkg: "backend/redis/conn", ours: []string{"backend", "backend/dialer", "backend/eager", "backend/resplimit"},
		why: "addresses, connections and replies of Redis are the same for every store that is kept there",
	},
	{
		pkg: "backend/redis/requests", ours: []string{"backend", "backend/redis/conn", "backend/redis/servers"},
		why: "how scripts reach a server is the same whatever they do",
	},
	{
		pkg: "backend/redis/servers", ours: []string{"backend", "backend/redis/conn"},
		why: "where the servers are, and what is heard from them, is known without what is kept there",
	},
	{
		pkg: "backend/redis/examine", ours: []string{"backend", "backend/ledger", "backend/redis", "backend/redis/conn", "backend/selftest"},
		why: "the doctor looks at a store from outside, so that what serves locks is free of it",
	},
	{
		pkg: "backend/redlock", ours: []string{"backend", "backend/dialer", "backend/ledger", "backend/redis", "backend/redlock/voting"},
		why: "as every store; it is made of several of Redis",
	},
	{
		pkg: "backend/floor", ours: []string{"backend", "backend/ledger"}, closed: true,
		why: "where fences begin is the same for every store, so it names none",
	},
	{
		pkg: "backend/resplimit", closed: true,
		why: "what a Redis server may answer is the same for all stores over one, so this knows none",
	},
	{
		pkg: "backend/tabletest", ours: []string{"backend", "backend/ledger"},
		why: "the conformance suite is the same for every store, so it names none",
	},
	{
		pkg: "backend/etcd/etcdtest", ours: []string{"backend/servertest"},
		why: "a server of a test is started without the store that is tested; so it is for those below",
	},
	{
		pkg: "backend/mysql/mysqltest", ours: []string{"backend/servertest"},
		why: "as etcdtest",
	},
	{
		pkg: "backend/postgres/pgtest", ours: []string{"backend/servertest"},
		why: "as etcdtest",
	},
	{
		pkg: "backend/redis/redistest", ours: []string{"backend/servertest"},
		why: "as etcdtest",
	},
	{
		pkg: "backend/zookeeper/zktest", ours: []string{"backend/servertest"},
		why: "as etcdtest",
	},
	{
		pkg: "backend/servertest", closed: true, theirs: []string{"golang.org/x/sys"},
		why: "a process that is a server of a test is the same whatever it serves",
	},
	{
		pkg: "session", ours: []string{"backend", "backend/boottime", "backend/jsontext", "backend/ledger", "session/answers", "session/contender", "session/engine", "session/events", "session/journal"},
		closed: true, theirs: []string{"golang.org/x/sys", "github.com/google/uuid"},
		why: "who holds a lock is decided here for all stores and all fronts: no client of a store, no web framework, no telemetry",
	},
	{
		pkg: "session/answers", ours: []string{"session/journal"}, closed: true, theirs: []string{"golang.org/x/sys", "github.com/google/uuid"},
		why: "how much is remembered for a user does not depend on what it says",
	},
	{
		pkg: "session/contender", ours: []string{"backend", "backend/ledger"}, closed: true,
		why: "what a node does about a name is pure, so that a model can explore what runs",
	},
	{
		pkg: "session/contender/model", ours: []string{"backend", "backend/ledger", "session/contender"}, closed: true,
		why: "the model has a store, a network and callers of its own",
	},
	{
		pkg: "session/engine", ours: []string{"backend", "backend/boottime", "backend/ledger", "session/contender"}, closed: true, theirs: []string{"golang.org/x/sys"},
		why: "it carries out what contenders ask for, and knows no sessions",
	},
	{
		pkg: "session/events", closed: true,
		why: "how events reach those who follow them does not depend on what they tell",
	},
	{
		pkg: "session/journal", ours: []string{"backend/jsontext"}, closed: true, theirs: []string{"golang.org/x/sys", "github.com/google/uuid"},
		why: "what a process leaves to the next one is facts; what they mean is decided in session",
	},
	{
		pkg: "session/", ours: []string{"session"},
		why: "a proof of life is told to the core and decides nothing itself",
	},
	{
		pkg: "session/access", ours: []string{"session", "session/peer"}, closed: true, theirs: []string{"golang.org/x/sys", "golang.org/x/time", "github.com/google/uuid"},
		why: "who may do what is decided once for all fronts, by what they know of a caller",
	},
	{
		pkg: "session/listing", ours: []string{"session", "backend"}, closed: true, theirs: []string{"golang.org/x/sys", "github.com/google/uuid"},
		why: "which names there are is read from the core and told in pages; it decides nothing",
	},
	{
		pkg: "session/history", ours: []string{"session", "backend"}, closed: true, theirs: []string{"golang.org/x/sys", "github.com/google/uuid"},
		why: "what happened is told to it by the core, and looked up by who asks; it decides nothing",
	},
	{
		pkg: "api", ours: []string{"api/", "session", "session/access", "session/events", "session/history", "session/listing", "session/peer", "backend"},
		why: "HTTP translates to and from the core; it knows no store and no other front",
	},
	{
		pkg: "api/accept", ours: []string{"session/peer"},
		why: "connections are let in before anything is known of what they ask for",
	},
	{
		pkg: "api/origin", closed: true,
		why: "whether a page of another site asks is told by headers alone",
	},
	{
		pkg: "api/params", ours: []string{"session", "session/listing"},
		why: "how a parameter is written is the same for every endpoint, so this knows none",
	},
	{
		pkg: "api/past", ours: []string{"backend"}, closed: true,
		why: "what is sent is read by clients, who know nothing else of the gateway",
	},
	{
		pkg: "api/web", closed: true, theirs: []string{"go.yaml.in/yaml"},
		why: "the page is a client of the HTTP interface like any other, so what serves it knows no locks",
	},
	{
		pkg: "socket", ours: []string{"socket/resp", "session", "session/", "backend", "backend/eager"},
		why: "the socket translates to and from the core; it knows no store and no other front",
	},
	{
		pkg: "socket/", ours: []string{},
		why: "reading and writing RESP knows nothing of locks",
	},
	{
		pkg: "socket/client", ours: []string{"socket/resp"}, closed: true,
		why: "programs that lock are built with it, so it brings neither the gateway nor other modules along",
	},
	{
		pkg: "cmd/lockgw",
		ours: []string{
			"cmd/lockgw/cli", "cmd/lockgw/config", "cmd/lockgw/doctor", "cmd/lockgw/floor", "cmd/lockgw/run", "cmd/lockgw/serve", "cmd/lockgw/top", "cmd/lockgw/verbs",
		},
		why: "the program is its commands, put together here and nowhere else",
	},
	{
		pkg: "cmd/lockgw/cli", ours: []string{"backend/dialer", "socket/client", "session", "session/access"},
		why: "what the commands share knows none of them",
	},
	{
		pkg: "cmd/lockgw/config", ours: []string{"cmd/lockgw/cli", "cmd/lockgw/telemetry", "session", "session/access", "backend", "backend/etcd", "backend/mysql", "backend/postgres", "backend/redis", "backend/redlock", "backend/zookeeper"},
		why: "what was configured is read and checked before anything is opened with it",
	},
	{
		pkg:  "cmd/lockgw/serve",
		ours: []string{"cmd/lockgw/cli", "cmd/lockgw/config", "cmd/lockgw/telemetry", "api", "socket", "session", "session/", "backend", "backend/"},
		why:  "the gateway is put together here, of a store, the core and the fronts",
	},
	{
		pkg: "cmd/lockgw/run", ours: []string{"cmd/lockgw/cli", "cmd/lockgw/telemetry", "socket/client", "session", "backend/boottime"},
		why: "a command under a lock is a client of a gateway like any other",
	},
	{
		pkg: "cmd/lockgw/verbs", ours: []string{"cmd/lockgw/cli", "api/past", "socket/client", "session"},
		why: "each of these commands is a client of a gateway like any other",
	},
	{
		pkg: "cmd/lockgw/top", ours: []string{"cmd/lockgw/cli", "socket/client", "session"},
		why: "the screen is a client of a gateway like any other",
	},
	{
		pkg: "cmd/lockgw/floor", ours: []string{"cmd/lockgw/cli", "cmd/lockgw/config", "cmd/lockgw/serve"},
		why: "it reads the store that a gateway would open",
	},
	{
		pkg: "cmd/lockgw/doctor", ours: []string{"cmd/lockgw/cli", "cmd/lockgw/config", "backend", "backend/etcd", "backend/mysql", "backend/postgres", "backend/redis", "backend/redis/examine", "backend/redlock", "backend/zookeeper"},
		why: "it asks the gateway that runs, and else looks at what one would need",
	},
	{
		pkg: "cmd/lockgw/telemetry", ours: []string{"session", "backend", "backend/breaker"},
		why: "what is shown of a gateway is told to it, by the core and by who builds the gateway",
	},
	{
		pkg: "cmd/lockgw/e2e", ours: []string{"cmd/lockgw/e2e/process", "session"},
		why: "the rig looks at gateways from outside, by their clocks and their clients",
	},
	{
		pkg: "cmd/lockgw/e2e/process", ours: []string{}, closed: true,
		why: "who starts and stops servers needs no tests around it, as the tutorial and the benchmarks",
	},
	{
		pkg: "cmd/lockgw/", ours: []string{},
		why: "what watches real gateways from outside is a client like any other",
	},
	{
		pkg: "deploy/packages/sbom", closed: true,
		why: "it reads a program that is built already, with the standard library alone",
	},
	{
		pkg: "docs/", ours: []string{"cmd/lockgw/e2e/process"},
		why: "the tutorial is a client like any other: the sockets are all it needs of lockgw",
	},
}

func TestImports(t *testing.T) {
	packages := listPackages(t)
	for _, p := range packages {
		name := p.short()
		r, ok := ruleFor(name)
		if !ok {
			t.Errorf("%s stands under no import rule: add one, with its reason, to the table in this file", name)
			continue
		}
		for _, imported := range p.Imports {
			if other, ours := cutModule(imported); ours && !r.mayImport(name, other) {
				t.Errorf("%s imports %s\nbut may import of this module only %q: %s", name, other, r.ours, r.why)
			}
		}
		for _, dep := range p.Deps {
			if r.closed && !r.mayReach(dep) {
				t.Errorf("%s depends on %s\nbut of other modules only on %q: %s", name, dep, r.theirs, r.why)
			}
		}
	}
	if len(packages) < 3 {
		t.Errorf("go list found %d packages, want those of the whole module", len(packages))
	}
}

// What nothing uses any more would let in, unseen, what was once agreed to for another reason.
func TestImportRulesAreUsed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere less of golang.org/x/sys is needed")
	}
	used := map[string]bool{} // a rule, and a rule with what it permits
	for _, p := range listPackages(t) {
		r, ok := ruleFor(p.short())
		if !ok {
			continue
		}
		used[r.pkg] = true
		for _, imported := range p.Imports {
			other, ours := cutModule(imported)
			for _, pattern := range r.ours {
				used[r.pkg+" "+pattern] = used[r.pkg+" "+pattern] || ours && matches(pattern, other)
			}
		}
		for _, dep := range p.Deps {
			for _, m := range r.theirs {
				used[r.pkg+" "+m] = used[r.pkg+" "+m] || within(m, dep)
			}
		}
	}
	for _, r := range rules {
		if !used[r.pkg] {
			t.Errorf("the import rule of %s is for no package: delete it", r.pkg)
			continue
		}
		for _, pattern := range slices.Concat(r.ours, r.theirs) {
			if !used[r.pkg+" "+pattern] {
				t.Errorf("%s may import %s and does not: delete that from the table in this file", r.pkg, pattern)
			}
		}
	}
}

// mostFiles is how many files that are not tests a package may have without saying why.
const mostFiles = 25

// A package that needs more rooms is found here; one that is better kept whole says in
// its doc comment why, with a sentence that begins "More than 25 files".
func TestImportedPackagesAreSmall(t *testing.T) {
	for _, p := range listPackages(t) {
		if len(p.GoFiles) <= mostFiles {
			continue
		}
		said := false
		for _, file := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			doc, _, _ := strings.Cut(string(text), "\npackage ")
			said = said || strings.Contains(doc, fmt.Sprintf("// More than %d files", mostFiles))
		}
		if !said {
			t.Errorf("%s has %d files, want %d at most, or a doc comment that says why it has more", p.short(), len(p.GoFiles), mostFiles)
		}
	}
}

// The table itself: what it allows and what it refuses.
func TestImportRules(t *testing.T) {
	tests := []struct {
		from, to string
		want     bool
	}{
		{"backend/redis", "backend", true},
		{"backend/redis", "backend/redis/redistest", true},
		{"backend/redis/redistest", "backend/servertest", true},
		{"backend/redis/redistest", "backend", false},
		{"backend/redis", "backend/servertest", false},
		{"backend/redis", "backend/memory", false},
		{"backend/redis", "session", false},
		{"backend/redis/examine", "backend/memory", false},
		{"backend", "session", false},
		{"backend/tabletest", "backend/memory", false},
		{"session", "backend", true},
		{"session", "backend/memory", false},
		{"session", "session/peer", false},
		{"session/peer", "session", true},
		{"session/peer", "backend", false},
		{"api", "socket", false},
		{"socket", "api", false},
		{"socket", "socket/resp", true},
		{"socket", "socket/client", false},
		{"socket/client", "session", false},
		{"socket/resp", "session", false},
		{"api", "session", true},
		{"api", "backend/redis", false},
		{"socket", "session/peer", true},
		{"socket", "backend/redis", false},
		{"api", "cmd/lockgw", false},
		{"cmd/lockgw", "backend/redis", false},
		{"cmd/lockgw/serve", "backend/redis", true},
		{"cmd/lockgw/run", "backend/redis", false},
		{"cmd/lockgw/run", "cmd/lockgw/serve", false},
		{"cmd/lockgw/cli", "cmd/lockgw/config", false},
		{"cmd/lockgw/e2e", "cmd/lockgw/serve", false},
		{"docs/shop", "session", false},
	}
	for _, tt := range tests {
		r, ok := ruleFor(tt.from)
		if !ok {
			t.Errorf("no rule for %s", tt.from)
		} else if got := r.mayImport(tt.from, tt.to); got != tt.want {
			t.Errorf("may %s import %s = %v, want %v", tt.from, tt.to, got, tt.want)
		}
	}
	session, _ := ruleFor("session")
	for _, dep := range []string{"github.com/gin-gonic/gin", "go.opentelemetry.io/otel", "github.com/redis/go-redis/v9"} {
		if session.mayReach(dep) {
			t.Errorf("session may depend on %s, want not", dep)
		}
	}
}

func ruleFor(pkg string) (rule, bool) {
	var best rule
	for _, r := range rules {
		if matches(r.pkg, pkg) && len(r.pkg) > len(best.pkg) {
			best = r
		}
	}
	return best, best.pkg != ""
}

func matches(pattern, pkg string) bool {
	if strings.HasSuffix(pattern, "/") {
		return strings.HasPrefix(pkg, pattern)
	}
	return pkg == pattern
}

func (r rule) mayImport(self, other string) bool {
	if strings.HasSuffix(r.pkg, "/") && strings.HasPrefix(other, self+"/") {
		return true
	}
	return slices.ContainsFunc(r.ours, func(pattern string) bool { return matches(pattern, other) })
}

// mayReach: of the standard library everything, of this module what the direct
// imports are checked for, of other modules only what the rule names.
func (r rule) mayReach(dep string) bool {
	if _, ours := cutModule(dep); ours || isStandard(dep) {
		return true
	}
	return slices.ContainsFunc(r.theirs, func(m string) bool { return within(m, dep) })
}

// within: the package dep is of module m.
func within(m, dep string) bool { return dep == m || strings.HasPrefix(dep, m+"/") }

// isStandard: the first element of a module's path has a dot; the standard
// library's own copies of modules are below vendor/.
func isStandard(dep string) bool {
	first, _, _ := strings.Cut(dep, "/")
	return !strings.Contains(first, ".")
}

// cutModule makes "session" of the import path of that package of ours.
func cutModule(path string) (short string, ours bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

type goPackage struct {
	ImportPath    string
	Dir           string
	GoFiles       []string
	Imports, Deps []string
}

func (p goPackage) short() string {
	s, _ := cutModule(p.ImportPath)
	return s
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,GoFiles,Imports,Deps", module+"/...")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var packages []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("read the answer of go list: %v", err)
		}
		packages = append(packages, p)
	}
}
