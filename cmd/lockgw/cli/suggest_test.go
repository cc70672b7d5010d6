package cli

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// What may be meant as the value of a switch stands behind one, and is a word for yes or no.
func TestValueBehindASwitch(t *testing.T) {
	for line, want := range map[string]string{
		"a --fair false":        `; if "false" is a value, write --fair=false`,
		"--fair No a":           `; if "No" is a value, write --fair=false`,
		"a --json 1":            `; if "1" is a value, write --json=true`,
		"a -qf true":            `; if "true" is a value, write -qf=true`,
		"a --fair b":            "",
		"a --fair=true true":    "",
		"a --note true true":    "",
		"a -n true":             "",
		"a -qn true":            "",
		"a -ü true":             "",
		"a - true":              "",
		"true false":            "",
		"a --fair -- true":      "",
		"a -- b --fair false":   "",
		"a --fair false -- b":   `; if "false" is a value, write --fair=false`,
		"--note --fair a false": "",
	} {
		set := pflag.NewFlagSet("test", pflag.ContinueOnError)
		set.BoolP("fair", "f", true, "")
		set.BoolP("quiet", "q", true, "")
		set.StringP("note", "n", "", "")
		JSONVar(set, new(string))
		words := strings.Fields(line)
		_ = set.Parse(words) // one has a flag that there is not
		if got := asValue(set, set.Args(), append([]string{"lockgw"}, words...)); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
