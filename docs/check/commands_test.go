package check

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCommands runs the blocks of each page, from the top, with a gateway of the
// page's own. What the notes do not say otherwise, has to succeed:
//
//   - a block of sh, python, js, php, ruby or java ends with exit status 0. A line of
//     sh with "echo $?" and a comment that begins with a number prints that number;
//   - a block of ini is a unit that systemd understands, named in its first line;
//   - a block of console prints after each "$ " what the page shows. There "..."
//     stands for anything, and numbers of four digits and more, and process ids, are all the same.
func TestCommands(t *testing.T) {
	used := &usage{}
	t.Run("pages", func(t *testing.T) {
		for _, page := range pages(t) {
			t.Run(page, func(t *testing.T) {
				t.Parallel()
				checkPage(t, page, used)
			})
		}
	})
	if !t.Failed() && !filtered() {
		used.checkAll(t)
	}
}

func checkPage(t *testing.T, page string, used *usage) {
	text := read(t, page)
	var p *place
	for _, b := range blocksOf(text) {
		if programs[b.lang] == nil {
			if !slices.Contains(notPrograms, b.lang) {
				t.Errorf("%s:%d: what to do with a block of %q? Commands are sh, or console with what they print", page, b.line, b.lang)
			}
			continue
		}
		if isSetup(b) {
			continue // TestTwoMachines runs it
		}
		n := used.find(page, b)
		if n.skip == "" {
			n.skip = elsewhere(t, b)
		}
		if n.skip != "" {
			t.Logf("%s:%d is not run: %s", page, b.line, n.skip)
			continue
		}
		if p == nil {
			p = open(t, withRedis[page])
		}
		t.Run(fmt.Sprintf("line %d", b.line), func(t *testing.T) { p.check(t, b, n) })
	}
}

// programs run a block that was written to a file.
var programs = map[string]func(file string) []string{
	"sh":      func(f string) []string { return []string{"bash", f} },
	"console": func(f string) []string { return []string{"bash", f} },
	"python":  func(f string) []string { return []string{"python3", f} },
	"js":      func(f string) []string { return []string{"node", f} },
	"php":     func(f string) []string { return []string{"php", f} },
	"ruby":    func(f string) []string { return []string{"ruby", f} },
	"java":    func(f string) []string { return []string{"java", f} },
	"ini":     func(f string) []string { return []string{"systemd-analyze", "verify", f} },
}

// notPrograms are shown, and not run.
var notPrograms = []string{"", "json", "lua", "machines", "sql", "yaml"} // machines: see TestTwoMachines

// check runs one block.
func (p *place) check(t *testing.T, b block, n note) {
	script := p.here(n.before + b.code)
	if b.lang == "console" {
		p.checkConsole(t, n, b)
		return
	}
	if b.lang == "sh" && !strings.Contains(b.code, "$?") {
		script = afterShebang("set -e\n", script)
	}
	program := programs[b.lang](p.write(t, fileName(b), script))
	if n.needs != "" && !p.has(n.needs) || !p.has("command -v "+program[0]) {
		t.Skipf("not installed: %s %s", program[0], n.needs)
	}
	out, err := p.run(t, n, program)
	if err != nil && !n.interrupt {
		t.Errorf("%v; it printed\n%s", err, out)
	}
	if b.lang == "ini" && strings.Contains(out, fileName(b)+":") { // a line that it does not understand is a warning
		t.Errorf("it printed\n%s", out)
	}
	if !strings.Contains(out, n.prints) {
		t.Errorf("it printed\n%s\nwant %q in it", out, n.prints)
	}
	if got, want := statusesIn(out), statusesOf(b); want != nil && !isSubsequence(want, got) {
		t.Errorf("it printed\n%s\nwant the exit codes %v in it", out, want)
	}
}

// fileName of a block: JavaScript is a module, and a unit is what it is, only by
// its name.
func fileName(b block) string {
	switch b.lang {
	case "js":
		return "block.mjs"
	case "ini":
		return filepath.Base(b.first())
	}
	return "block." + b.lang
}

// afterShebang puts a line before a script, but not before the "#!" of it.
func afterShebang(line, script string) string {
	if first, rest, _ := strings.Cut(script, "\n"); strings.HasPrefix(first, "#!") {
		return first + "\n" + line + rest
	}
	return line + script
}

var (
	statusLine    = regexp.MustCompile(`(?m)^\d+$`)
	statusComment = regexp.MustCompile(`echo \$\?.*\s# (\d+)`)
)

func statusesIn(out string) []string { return statusLine.FindAllString(out, -1) }

// statusesOf are the exit codes that the page says its commands end with.
func statusesOf(b block) (want []string) {
	for _, m := range statusComment.FindAllStringSubmatch(b.code, -1) {
		want = append(want, m[1])
	}
	return want
}

func isSubsequence(want, got []string) bool {
	for _, s := range got {
		if len(want) > 0 && want[0] == s {
			want = want[1:]
		}
	}
	return len(want) == 0
}
