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
		set := someFlags()
		words := strings.Fields(line)
		_ = set.Parse(words) // one has a flag that there is not
		if got := asValue(set, set.Args(), append([]string{"lockgw"}, words...)); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// What would be taken for a name is refused where it can hardly be meant as one.
func TestNoValueIsTakenForAName(t *testing.T) {
	for line, want := range map[string]string{
		"a --fair false":      `"false" would be a name here, not the value of --fair: write --fair=false, or put the name before --fair`,
		"-qf True a":          `"True" would be a name here, not the value of -qf: write -qf=true, or put the name before -qf`,
		"a --fair 1 -f true":  `"true" would be a name here, not the value of -f: write -f=true, or put the name before -f`,
		"a --fair 1":          "",
		"false --fair":        "",
		"a --note true":       "",
		"a --fair -- false":   "",
		"a -- b --fair false": "",
	} {
		set := someFlags()
		words := strings.Fields(line)
		if err := set.Parse(words); err != nil {
			t.Fatal(err)
		}
		code, got := ExitCode(refuseValue(set, set.Args(), append([]string{"lockgw"}, words...)))
		if got != want || want != "" && code != ExitUsage {
			t.Errorf("%s: %d, %q, want %q", line, code, got, want)
		}
	}
}

func someFlags() *pflag.FlagSet {
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	set.BoolP("fair", "f", true, "")
	set.BoolP("quiet", "q", true, "")
	set.StringP("note", "n", "", "")
	JSONVar(set, new(string))
	return set
}
