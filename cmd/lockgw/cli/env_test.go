package cli

import (
	"testing"

	"github.com/spf13/pflag"
)

func TestFlagsFromEnv(t *testing.T) {
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	wait := set.String("max-wait", "", "")
	given := set.String("given", "", "")
	ttl := set.String("config-key", "", "")
	if err := set.SetAnnotation("config-key", ConfigKey, []string{"x"}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LOCKGW_MAX_WAIT", "1")
	t.Setenv("LOCKGW_GIVEN", "2")
	t.Setenv("LOCKGW_CONFIG_KEY", "3")
	if err := set.Parse([]string{"--given=4"}); err != nil {
		t.Fatal(err)
	}
	if err := FlagsFromEnv(set); err != nil {
		t.Fatal(err)
	}
	if *wait != "1" || *given != "4" || *ttl != "" {
		t.Errorf("max-wait, given, config-key = %q, %q, %q; want 1, 4 and nothing", *wait, *given, *ttl)
	}
}

// A flag counts for more than a variable, also one that is spelled in another way.
func TestTypedFormBeatsVariable(t *testing.T) {
	for _, tt := range []struct {
		args         []string
		output, json string // the variables
		want         string
	}{
		{nil, "", "", "table"},
		{nil, "name", "", "name"},
		{nil, "", "1", "json"},
		{[]string{"--json"}, "name", "", "json"},
		{[]string{"-o", "table"}, "", "1", "table"},
		{[]string{"-o", "wide"}, "name", "1", "wide"},
		{[]string{"--json=false"}, "", "1", "table"},
	} {
		t.Setenv("LOCKGW_OUTPUT", tt.output)
		t.Setenv("LOCKGW_JSON", tt.json)
		set := pflag.NewFlagSet("test", pflag.ContinueOnError)
		var out Output
		out.AddFlag(set)
		if err := set.Parse(tt.args); err != nil {
			t.Fatal(err)
		}
		if err := FlagsFromEnv(set); err != nil {
			t.Fatal(err)
		}
		if out.Format != tt.want {
			t.Errorf("%q with LOCKGW_OUTPUT=%s LOCKGW_JSON=%s: %s, want %s", tt.args, tt.output, tt.json, out.Format, tt.want)
		}
	}
}

// The variable of -o is for all commands. One that lacks its form keeps to its own.
func TestFormThatOthersHave(t *testing.T) {
	for _, tt := range []struct {
		output, want string
		wrong        bool
	}{
		{"json", "json", false},
		{"wide", "table", false},
		{"name", "table", false},
		{"wdie", "table", true},
	} {
		t.Setenv("LOCKGW_OUTPUT", tt.output)
		set := pflag.NewFlagSet("test", pflag.ContinueOnError)
		format := "table"
		FormatVar(set, &format, "table", "json")
		err := FlagsFromEnv(set)
		if format != tt.want || (err != nil) != tt.wrong {
			t.Errorf("LOCKGW_OUTPUT=%s: %s, %v; want %s, and an error: %v", tt.output, format, err, tt.want, tt.wrong)
		}
		if set.Changed("output") != (tt.output == tt.want) {
			t.Errorf("LOCKGW_OUTPUT=%s: changed is %v", tt.output, set.Changed("output"))
		}
	}
}
