//go:build planted

package history_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/cmd/lockgw/history"
)

// bug replaces old by new in file, a path from the module's root. A history of the
// scenario has to break one of the rules.
type bug struct {
	name     string
	file     string
	old, new string
	s        scenario
	rules    []string
}

// Scenarios with much of the one fault that a bug needs.
var (
	slowAnswers = only("slow answers", leases, "delay replies", onLane(commands,
		trouble{mode: delayReplies, chance: 0.7, least: 200 * time.Millisecond, most: 450 * time.Millisecond}, 500, 2000))
	tardy = leaving(only("late requests", handOffs, "late requests", onLane(commands,
		trouble{mode: late, chance: 0.15, least: 600 * time.Millisecond, most: 3 * time.Second}, 500, 2000)))
	// Longer than a gateway tries to learn what became of an acquire.
	unanswered = leaving(only("no answers", handOffs, "drop all replies", onLane(commands,
		trouble{mode: dropReplies, chance: 1}, 2200, 3200)))
)

// leaving is s with callers that go as soon as the faults are over: who asks anew
// for a name drops what was left behind. So much of one fault stops a gateway for
// longer than a stall may last, so stalls do not count.
func leaving(s scenario) scenario {
	s.calm, s.stall = 500*time.Millisecond, time.Minute
	return s
}

func only(name string, s scenario, kind string, do func(*nemesis) (string, bool)) scenario {
	s.name, s.nemeses, s.faults = name, nodes, []fault{{kind, do}}
	return s
}

// The bugs that every lock service seems to have had once.
var bugs = []bug{
	{
		name: "a write does not compare the version", file: "backend/redis/swap.lua",
		// It does where the gateway tries whether it does, or it would never begin to serve.
		old: "  if sub(h, 1, 22) ~= ARGV[1] then", new: "  if sub(h, 1, 22) ~= ARGV[1] and find(record, 'lockgw:selftest:', 1, true) then",
		s: handOffs, rules: []string{"overlap", "model", "fence"},
	},
	{
		name: "a minority decides", file: "backend/redlock/voting/table.go",
		old: "quorum: len(tables)/2 + 1", new: "quorum: len(tables) / 2",
		s: on("redlock", leases), rules: []string{"overlap", "model", "fence"},
	},
	{
		name: "what is offered counts as held", file: "session/contender/answer.go",
		old: "		if written && mine != nil {", new: "		if o := c.copy.Offer(c.cfg.Node); mine == nil && o != nil {\n			c.grantedHold(q, o)\n			return true\n		}\n		if written && mine != nil {",
		s: leases, rules: []string{"overlap", "model", "fence", "stuck", "stall"},
	},
	{
		name: "fences by counting alone", file: "backend/redis/reserve.lua",
		old: "    base = math.max(us, least, behind and u or 0)\n", new: "    base = 0\n",
		s: amnesia, rules: []string{"fence"},
	},
	{
		name: "deadline from the answer instead of the sending", file: "session/contender/lease.go",
		old: "	h.ttl, h.stamped, h.failing = q.ttl, q.SentAt, false\n	h.deadline = q.SentAt +",
		new: "	h.ttl, h.stamped, h.failing = q.ttl, c.now, false\n	h.deadline = c.now +",
		s:   slowAnswers, rules: []string{"overlap", "model"},
	},
	{
		name: "a write without an answer was not carried out", file: "session/contender/answer.go",
		old: "			c.unresolved = true\n", new: "",
		s: unanswered, rules: []string{"stuck", "leak", "overlap", "model", "stall"},
	},
	{
		name: "a new connection for messages asks for nothing", file: "session/contender/store.go",
		old: "	c.look = c.look || c.queue.len() > 0 || c.hold.id != 0\n", new: "",
		s: silence, rules: []string{"stall", "stuck"},
	},
	{
		name: "silent messages are not noticed", file: "backend/redis/servers/subscriber.go",
		old: "err = h.prove(ctx, h.id+rand.Text(), echoes)", new: "_ = rand.Text",
		s: silence, rules: []string{"stall", "stuck"},
	},
}

// tries is how many histories a bug may take: what goes wrong is left to chance.
const tries = 4

func TestPlanted(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range slices.Concat(bugs, sharedBugs) {
		t.Run(strings.ReplaceAll(b.name, " ", "-"), func(t *testing.T) { find(t, root, b) })
	}
}

// The control: in the same scenarios the code as it is breaks no rule. Otherwise
// what they find would say nothing about a bug.
func TestNotPlanted(t *testing.T) {
	program, err := e2e.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []scenario{slowAnswers, tardy, unanswered, tardySharers, turnsAmongSharers, unhurried} {
		t.Run(strings.ReplaceAll(s.name, " ", "-"), func(t *testing.T) {
			for seed := range uint64(tries) {
				r, vs := play(t, s, *seedFlag+seed, program)
				report(t, r, vs)
			}
		})
	}
}

func find(t *testing.T, root string, b bug) {
	program := buildWith(t, root, b)
	if *durationFlag != 0 {
		b.s.faulty = *durationFlag
	}
	began := time.Now()
	for seed := range uint64(tries) {
		_, vs := play(t, b.s, *seedFlag+seed, program)
		if i := slices.IndexFunc(vs, func(v history.Violation) bool { return slices.Contains(b.rules, v.Rule) }); i >= 0 {
			t.Logf("found in history %d, after %v, in %d violations: %s", seed+1, time.Since(began).Round(time.Second), len(vs), vs[i])
			return
		}
		for _, v := range vs[:min(len(vs), 3)] {
			t.Logf("not what was looked for: %s", v)
		}
	}
	t.Errorf("not found in %d histories of %q", tries, b.s.name)
}

func buildWith(t *testing.T, root string, b bug) string {
	file := filepath.Join(root, b.file)
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(src), b.old); n != 1 {
		t.Fatalf("%s: what is to be replaced stands there %d times, want once:\n%s", b.file, n, b.old)
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(changed, []byte(strings.Replace(string(src), b.old, b.new, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := e2e.Build(dir, "-overlay="+list)
	if err != nil {
		t.Fatal(err)
	}
	return program
}
