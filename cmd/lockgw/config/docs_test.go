package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of the page instead of comparing it")

const (
	configurationPage = "../../../docs/configuration.md"
	keysBegin         = "<!-- keys -->\n"
	keysEnd           = "<!-- /keys -->\n"
)

// keysTable has a row for each key.
func keysTable() string {
	machine := map[string]string{ // defaults that depend on the machine and the user
		"node":       "the host name",
		"state_dir":  "`/var/lib/lockgw`, or `$XDG_STATE_HOME/lockgw` when not root",
		"socket.dir": "`/run/lockgw`, or `$XDG_RUNTIME_DIR/lockgw` when not root",
	}
	defaults := Default()
	var b strings.Builder
	b.WriteString("| key | variable | default | changes by | meaning |\n|---|---|---|---|---|\n")
	for _, f := range fields() {
		def, ok := machine[f.key]
		if text := f.text(&defaults); !ok && text != "" {
			def = "`" + text + "`"
		}
		changes := "restart"
		if f.reload {
			changes = "reload"
		}
		help := f.help
		if len(f.oneOf) > 0 {
			help += ": `" + strings.Join(f.oneOf, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n", f.key, f.env(), def, changes, strings.ReplaceAll(help, "|", `\|`))
	}
	return b.String()
}

// The page has every key, as the program has it.
func TestConfigurationPage(t *testing.T) {
	b, err := os.ReadFile(configurationPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(b), keysBegin)
	got, after, ok2 := strings.Cut(rest, keysEnd)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no table between %q and %q", configurationPage, keysBegin, keysEnd)
	}
	want := keysTable()
	if *update {
		if err := os.WriteFile(configurationPage, []byte(before+keysBegin+want+keysEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got == want {
		return
	}
	lines := strings.Split(got, "\n")
	for i, line := range strings.Split(want, "\n") {
		if i >= len(lines) || lines[i] != line {
			t.Fatalf("the table of %s is not that of the program; line %d should be\n%s\ngo test ./cmd/lockgw/config -run TestConfigurationPage -update writes it",
				configurationPage, i+1, line)
		}
	}
	t.Fatalf("the table of %s has lines that the program knows nothing of", configurationPage)
}

// What the pages tell to write into the file is read without a complaint about keys.
func TestConfigurationExamples(t *testing.T) {
	found := 0
	for _, page := range []string{configurationPage, "../../../docs/security.md"} {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, rest := range strings.Split(string(b), "```yaml\n")[1:] {
			example, _, _ := strings.Cut(rest, "```")
			found++
			// A user in it may not be one of this machine.
			if _, err := parseFile(page, []byte(example)); err != nil && !strings.Contains(err.Error(), "on this machine") {
				t.Errorf("%v in the example\n%s", err, example)
			}
		}
	}
	if found < 2 {
		t.Errorf("%d examples were found, want those of security.md at least", found)
	}
}
