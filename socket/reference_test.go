package socket

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of the reference page instead of comparing it")

const (
	referencePage = "../docs/reference/socket.md"
	tableBegins   = "<!-- commands, made by go generate ./docs/check -->\n"
	tableEnds     = "<!-- end of commands -->\n"
)

// The page about the socket has the commands that the server has.
func TestReferencePage(t *testing.T) {
	page, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), tableBegins)
	old, after, ended := strings.Cut(rest, tableEnds)
	if !ok || !ended {
		t.Fatalf("%s has no place for the commands between %q and %q", referencePage, tableBegins, tableEnds)
	}
	table := referenceTable()
	if *update {
		if err := os.WriteFile(referencePage, []byte(before+tableBegins+table+tableEnds+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != table {
		t.Errorf("docs/reference/socket.md has\n%s\nthe server has\n%s\nrun go generate ./docs/check", old, table)
	}
}

func referenceTable() string {
	var b strings.Builder
	b.WriteString("| command | |\n|---|---|\n")
	for _, group := range [][]command{lockCommands(), sessionCommands(), channelCommands(), adminCommands(), connectionCommands()} {
		for _, c := range group {
			usage := strings.TrimSpace(c.name + " " + c.args)
			fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(usage, "|", `\|`), strings.ReplaceAll(c.summary, "|", `\|`))
		}
	}
	return b.String()
}
