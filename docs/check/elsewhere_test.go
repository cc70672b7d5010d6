package check

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// programsElsewhere are what a block may consist of that cannot be run here.
var programsElsewhere = map[string]string{
	"apt-get":      "changes the system",
	"docker":       "needs a container engine",
	"go":           "a command of the project's own, which checks run by itself",
	"helm":         "needs a cluster",
	"install":      "changes the system",
	"kubectl":      "needs a cluster",
	"lockgw serve": "a gateway of its own, which goes on until it is stopped",
	"make":         "a command of the project's own, which checks run by itself",
	"ssh":          "needs another machine",
	"systemctl":    "changes the system",
	"usermod":      "changes the system",
}

// assignments before a command.
var assignments = regexp.MustCompile(`^([A-Z_]+=\S* )+`)

// elsewhere is why none of the block's commands can be run here, "" if one can. Of
// the project's own commands it sees that there is such a target, or directory.
func elsewhere(t *testing.T, b block) (why string) {
	t.Helper()
	for _, line := range b.commands() {
		words := strings.Fields(assignments.ReplaceAllString(line, ""))
		reason, ok := programsElsewhere[words[0]]
		if words[0] == "lockgw" && len(words) > 1 {
			reason, ok = programsElsewhere["lockgw "+words[1]]
		}
		if !ok {
			return ""
		}
		why = reason
		for _, w := range words[1:] {
			if strings.HasPrefix(w, "#") {
				break
			}
			checkOurs(t, words[0], w)
		}
	}
	return why
}

func checkOurs(t *testing.T, program, word string) {
	t.Helper()
	if program == "go" && strings.HasPrefix(word, "./") {
		if _, err := os.Stat(filepath.Join(root, strings.TrimSuffix(word, "/..."))); err != nil {
			t.Errorf("%s %s: %v", program, word, err)
		}
	}
	if program == "make" {
		makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(word, "=") && !bytes.Contains(makefile, []byte("\n"+word+":")) {
			t.Errorf("make %s: there is no such target", word)
		}
	}
}
