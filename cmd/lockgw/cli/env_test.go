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
